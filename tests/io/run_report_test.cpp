#include <libra/io/run_report.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>

using json = nlohmann::ordered_json;
using libra::attention_errors;
using libra::run_report;

namespace {

json written(run_report const& report) {
  std::string text;
  libra::json_writer out(text);
  out.object([&] { write_members(out, report); });
  return json::parse(text);
}

}  // namespace

TEST_CASE("the document of two systems") {
  run_report report{.micro_step = 5, .systems = {}};
  report.systems.push_back({.system = "ulysses",
                            .forward_seconds = 2,
                            .backward_seconds = 4,
                            .busy_seconds = {1, 3},
                            .bytes_sent = libra::int128{1} << 70,
                            .overlap = 0.25,
                            .max_error = {1e-7, 2e-7, 3e-7, 4e-7, 5e-7}});
  report.systems.push_back(report.systems.front());
  report.systems.back().system = "pooled";
  report.systems.back().backward_seconds = 1;
  CHECK(written(report)["systems"][0].dump().starts_with(
      R"({"system":"ulysses","forward_seconds":2.0,"backward_seconds":4.0,"busy_seconds":[1.0,3.0],"skew":1.5,"bytes_sent":)"));
  CHECK(written(report)["systems"][0]["max_error"].dump() ==
        R"({"o":1e-07,"lse":2e-07,"dq":3e-07,"dk":4e-07,"dv":5e-07})");
  CHECK(written(report)["systems"][0]["passed"] == true);
  CHECK(written(report)["speedup_over_ulysses"] == 2.0);
  CHECK(written(report)["micro_step"] == 5);
  CHECK(report.passed());

  report.systems.front().system = "as if";
  CHECK(written(report)["speedup_over_ulysses"].is_null());
  report.systems.back().max_error.dk = 1e-3;
  CHECK_FALSE(report.passed());
  CHECK(written(report)["systems"][0]["passed"] == true);
  CHECK(written(report)["systems"][1]["passed"] == false);
}

TEST_CASE("errors are small only where each is") {
  CHECK(attention_errors{}.small());
  CHECK(attention_errors{9e-6, 9e-6, 9e-5, 9e-5, 9e-5}.small());
  double const infinite = std::numeric_limits<double>::infinity();
  for (double const bad : {1e-4, infinite, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_FALSE(attention_errors{.o = bad}.small());
    CHECK_FALSE(attention_errors{.lse = bad}.small());
    CHECK_FALSE(attention_errors{.dq = bad}.small());
    CHECK_FALSE(attention_errors{.dk = bad}.small());
    CHECK_FALSE(attention_errors{.dv = bad}.small());
  }
}
