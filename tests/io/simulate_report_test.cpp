#include <libra/io/simulate_report.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace {

libra::simulated_system system_of(std::string name, double attention, double step) {
  libra::simulated_system s{.system = std::move(name), .setting = "waves 1", .timing = {}};
  s.timing.attention_seconds = attention;
  s.timing.step_seconds = step;
  return s;
}

nlohmann::json written(libra::simulate_report const& report) {
  std::string text;
  libra::json_writer json(text);
  json.object([&] { write_members(json, report); });
  return nlohmann::json::parse(text);
}

TEST_CASE("figures that compare systems with ulysses and with the bound") {
  libra::simulate_report report{.bound = {.attention_seconds = 1, .step_seconds = 3},
                                .systems = {system_of("ulysses", 6, 8), system_of("pooled", 1.5, 4)}};
  auto const json = written(report);
  CHECK(json.at("bound").at("attention_seconds") == 1.0);
  auto const& pooled = json.at("systems").at(1);
  CHECK(pooled.at("speedup_over_ulysses") == 2.0);
  CHECK(pooled.at("of_ceiling") == 0.75);
  CHECK(pooled.at("attention_over_bound") == 1.5);
  report.systems.erase(report.systems.begin());
  CHECK(written(report).at("systems").at(0).at("speedup_over_ulysses").is_null());
}

}  // namespace
