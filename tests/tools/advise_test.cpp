#include <support/command.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using json = nlohmann::ordered_json;
using libra::test::command_result;
using libra::test::run_libra;
using words = std::vector<std::string>;

namespace {

/// A long document and many short ones, over and over.
std::string lengths() {
  std::string text;
  for (int i = 0; i < 400; ++i) {
    text += i % 40 == 0 ? "16384\n" : std::to_string(200 + 13 * (i % 37)) + "\n";
  }
  return text;
}

command_result advise(words options) {
  options.insert(options.begin(), {"advise", "-", "--window", "16K", "--cp", "2"});
  return run_libra(options, lengths());
}

TEST_CASE("every power of two up to all slots, all slots and the given pool, with figures that fit together") {
  command_result const result = advise({"--dp", "6", "--pool", "3", "--json", "-"});
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  json const run = json::parse(result.out);
  CHECK(run.at("command") == "advise");
  CHECK(run.at("config").at("pool") == 3);
  CHECK(run.at("config").at("recompute") == "none");
  std::vector<int> pools;
  double best = 1e9;
  double last_predicted = 1e9;
  for (json const& p : run.at("pools")) {
    CAPTURE(p.dump());
    pools.push_back(p.at("pool"));
    CHECK(double(p.at("predicted_skew")) <= last_predicted);
    last_predicted = p.at("predicted_skew");
    CHECK(double(p.at("placed_over_mean")) >= 1.0);
    CHECK(double(p.at("attention_over_bound")) >= double(p.at("placed_over_mean")) * 0.999);
    best = std::min(best, double(p.at("step_seconds")));
  }
  CHECK(pools == std::vector<int>{1, 2, 3, 4, 6});
  for (json const& p : run.at("pools")) {
    if (double(p.at("step_seconds")) <= 1.01 * best) {
      CHECK(run.at("recommended") == p.at("pool"));
      break;
    }
  }
}

TEST_CASE("the table names the recommendation") {
  command_result const result = advise({"--dp", "4"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("Recommended: --pool ") != std::string::npos);
}

TEST_CASE("options that cannot be used are one line and exit 2") {
  for (words const& options :
       std::vector<words>{{"--dp", "4", "--recompute", "half"}, {"--dp", "4000"}, {"--dp", "4", "--pp", "0"}}) {
    command_result const result = advise(options);
    CAPTURE(result.err);
    CHECK(result.exit_code == 2);
    CHECK(result.error_lines() == 1);
    CHECK(result.out.empty());
    CHECK(result.err.find(options.back()) != std::string::npos);
  }
}

}  // namespace
