#include <libra/version.hpp>

#include <support/command.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using json = nlohmann::ordered_json;
using libra::test::command_result;
using libra::test::run_libra;

TEST_CASE("the version") {
  command_result const result = run_libra({"--version"});
  CHECK(result.exit_code == 0);
  CHECK(result.out == "libra " + std::string(libra::version) + "\n");
  CHECK(result.err.empty());
}

TEST_CASE("help is asked for and given on standard output, with defaults") {
  for (std::string const command : {"plan", "run", "lengths", "policies"}) {
    command_result const result = run_libra({command, "--help"});
    CHECK(result.exit_code == 0);
    CHECK(result.err.empty());
    CHECK(result.out.find("--json") != std::string::npos);
  }
  command_result const all = run_libra({"--help"});
  CHECK(all.exit_code == 0);
  CHECK(all.out.find("policies") != std::string::npos);
  std::string const plan = run_libra({"plan", "--help"}).out;
  for (char const* const part :
       {"--window N=256K", "--dp D=64", "--placer NAME=variance_reduced", "in_order, best_fit_decreasing"}) {
    CAPTURE(part);
    CHECK(plan.find(part) != std::string::npos);
  }
}

TEST_CASE("policies are listed with what they do and where they come from") {
  command_result const result = run_libra({"policies", "--json", "-"});
  REQUIRE(result.exit_code == 0);
  json const document = json::parse(result.out);
  for (char const* const seam : {"packer", "pools", "placer", "dispatcher", "cost"}) {
    CAPTURE(seam);
    REQUIRE(document.contains(seam));
    for (json const& policy : document[seam]) {
      CHECK_FALSE(policy["name"].get<std::string>().empty());
      CHECK_FALSE(policy["summary"].get<std::string>().empty());
      CHECK_FALSE(policy["source"].get<std::string>().empty());
      CHECK(run_libra({"policies"}).out.find(policy["name"].get<std::string>()) != std::string::npos);
    }
  }
}
