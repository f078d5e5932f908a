#include <libra/io/advise_report.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using json = nlohmann::ordered_json;
using libra::advise_report;

namespace {

TEST_CASE("the smallest pool within one percent of the fastest is recommended") {
  advise_report const report{{{.pool = 1, .step_seconds = 3.0},
                              {.pool = 4, .step_seconds = 1.011},
                              {.pool = 8, .step_seconds = 1.009},
                              {.pool = 16, .step_seconds = 1.0},
                              {.pool = 32, .step_seconds = 1.2}}};
  CHECK(report.recommended().pool == 8);
  CHECK_THROWS_AS(static_cast<void>(advise_report{}.recommended()), libra::input_error);
}

TEST_CASE("the members of the contract, in order") {
  std::string text;
  libra::json_writer out(text);
  out.object([&] {
    write_members(out, advise_report{{{.pool = 2,
                                       .predicted_skew = 1.5,
                                       .placed_over_mean = 1.25,
                                       .attention_over_bound = 1.75,
                                       .step_seconds = 0.5}}});
  });
  CHECK(json::parse(text).dump() ==
        R"({"pools":[{"pool":2,"predicted_skew":1.5,"placed_over_mean":1.25,"attention_over_bound":1.75,)"
        R"("step_seconds":0.5}],"recommended":2})");
}

}  // namespace
