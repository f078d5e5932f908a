#include <support/command.hpp>
#include <support/scratch_folder.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using json = nlohmann::ordered_json;
using libra::test::command_result;
using libra::test::run_libra;
using words = std::vector<std::string>;

namespace {

std::string_view constexpr lengths = "500\n60\n100\n250\n40\n250\n30\n10\n90\n128\n128\n100\n";

/// Small enough to be over in a moment, also under sanitizers.
words run_of(words const& more) {
  words arguments{"run", "-",         "--window", "256",        "--dp", "2",          "--cp", "1",      "--pool",
                  "2",   "--q-heads", "4",        "--kv-heads", "2",    "--head-dim", "16",   "--json", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json run(words const& more) {
  command_result const result = run_libra(run_of(more), lengths);
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  return json::parse(result.out);
}

}  // namespace

TEST_CASE("both systems compute the same attention, checked against the reference") {
  json const document = run({});
  words keys;
  for (auto const& [key, value] : document.items()) keys.push_back(key);
  CHECK(keys == words{"libra", "command", "config", "systems", "speedup_over_ulysses", "micro_step"});
  CHECK(document["command"] == "run");
  REQUIRE(document["systems"].size() == 2);
  CHECK(document["systems"][0]["system"] == "ulysses");
  CHECK(document["systems"][1]["system"] == "pooled");
  for (json const& system : document["systems"]) {
    keys.clear();
    for (auto const& [key, value] : system.items()) keys.push_back(key);
    CHECK(keys == words{"system", "forward_seconds", "backward_seconds", "busy_seconds", "skew", "bytes_sent",
                        "overlap", "max_error", "passed"});
    CHECK(system["busy_seconds"].size() == 2);
    CHECK(system["skew"].get<double>() >= 1.0);
    CHECK(system["passed"] == true);
    CHECK(system["max_error"]["o"].get<double>() < 1e-5);
    CHECK(system["max_error"]["lse"].get<double>() < 1e-5);
    CHECK(system["max_error"]["dq"].get<double>() < 1e-4);
    CHECK(system["max_error"]["dk"].get<double>() < 1e-4);
    CHECK(system["max_error"]["dv"].get<double>() < 1e-4);
  }
  CHECK(document["systems"][0]["bytes_sent"] == 0);
  CHECK(document["speedup_over_ulysses"].get<double>() > 0);
}

TEST_CASE("masks, layouts and packers of every kind pass the check") {
  for (words const& options : std::vector<words>{{"--mask", "full"},
                                                 {"--mask", "window:33"},
                                                 {"--cp", "3", "--arrange", "off"},
                                                 {"--dp", "3", "--pool", "2", "--packer", "in_order"},
                                                 {"--dp", "1", "--pool", "1", "--cp", "6"},
                                                 {"--overlong", "truncate", "--order", "shuffle"}}) {
    words chosen{"run", "-", "--window", "256", "--q-heads", "4", "--kv-heads", "2", "--head-dim", "16", "--json", "-"};
    for (words const& usual : std::vector<words>{{"--dp", "2"}, {"--cp", "1"}}) {
      if (std::ranges::find(options, usual[0]) == options.end())
        chosen.insert(chosen.end(), usual.begin(), usual.end());
    }
    chosen.insert(chosen.end(), options.begin(), options.end());
    command_result const result = run_libra(chosen, lengths);
    CAPTURE(options[1]);
    CAPTURE(result.err);
    CHECK(result.exit_code == 0);
    json const document = json::parse(result.out);
    for (json const& system : document["systems"]) CHECK(system["passed"] == true);
  }
}

TEST_CASE("shrinking divides the lengths and the window, rounding up") {
  json const document = run({"--shrink", "3"});
  CHECK(document["config"]["window"] == 86);
  CHECK(document["config"]["shrink"] == 3);
  CHECK(document["config"]["backend"] == "host");
  CHECK(document["config"]["compare"].dump() == R"(["ulysses","pooled"])");
}

TEST_CASE("the micro-step with the most work is executed, or the one that was asked for") {
  words const options{"--placer", "as_packed", "--packer", "in_order", "--micro-steps", "1"};
  // Packed in order: the second of the three micro-steps has two whole windows.
  std::string_view const padded = "256\n128\n128\n256\n256\n64\n64\n64\n64\n256\n";
  auto const executed = [&](words more) {
    words arguments = run_of(options);
    arguments.insert(arguments.end(), more.begin(), more.end());
    command_result const result = run_libra(arguments, padded);
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    return json::parse(result.out);
  };
  CHECK(executed({})["micro_step"] == 1);
  CHECK(executed({"--micro-step", "2"})["micro_step"] == 2);
  CHECK(executed({"--micro-step", "2"})["config"]["micro_step"] == 2);
}

TEST_CASE("systems can be chosen; without ulysses there is no speedup") {
  json const one = run({"--compare", "pooled"});
  CHECK(one["systems"].size() == 1);
  CHECK(one["speedup_over_ulysses"].is_null());
  json const turned = run({"--compare", "pooled,ulysses"});
  CHECK(turned["systems"][0]["system"] == "pooled");
  CHECK(turned["speedup_over_ulysses"] == 1.0);
}

TEST_CASE("the table names the check and the speedup") {
  words arguments = run_of({});
  arguments.resize(arguments.size() - 2);
  command_result const result = run_libra(arguments, lengths);
  CHECK(result.exit_code == 0);
  CHECK(result.err.empty());
  CHECK(result.out.find("passed") != std::string::npos);
  CHECK(result.out.find("of the time of ulysses") != std::string::npos);
}

TEST_CASE("a trace has one lane per queue of each rank, and every op of every system") {
  libra::test::scratch_folder const folder;
  std::string const path = folder.path("trace.json");
  json const document = run({"--trace", path});
  json const trace = json::parse(libra::test::content_of(path));
  std::vector<std::string> processes, lanes;
  std::vector<std::string> ops;
  for (json const& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "process_name") processes.push_back(event["args"]["name"]);
    if (event["ph"] == "M" && event["name"] == "thread_name" && event["pid"] == 1)
      lanes.push_back(event["args"]["name"]);
    if (event["ph"] == "X") {
      ops.push_back(event["name"]);
      CHECK(event["dur"].get<double>() >= 0);
    }
  }
  CHECK(processes == words{"ulysses pool 0", "pooled pool 0"});
  std::ranges::sort(lanes);
  CHECK(lanes == words{"rank 0 combine", "rank 0 compute", "rank 0 deliver", "rank 0 fetch", "rank 1 combine",
                       "rank 1 compute", "rank 1 deliver", "rank 1 fetch"});
  for (char const* const op : {"exchange", "attend", "attend_backward"}) {
    CHECK(std::ranges::find(ops, op) != ops.end());
  }
}

TEST_CASE("a timeout must be a number of seconds") {
  command_result const result = run_libra(run_of({"--timeout", "0"}), lengths);
  CHECK(result.exit_code == 2);
  CHECK(result.error_lines() == 1);
  CHECK(result.err.find("--timeout") != std::string::npos);
}

TEST_CASE("a run with ranks of unequal speed computes the same attention") {
  libra::test::scratch_folder const folder;
  std::string const speeds = folder.write("speeds", "1\n0.4\n");
  json const document = run({"--speeds", speeds, "--cost", "pair_count", "--compare", "ulysses,zigzag_ring,pooled"});
  CHECK(document["config"]["speeds"].dump() == "[1.0,0.4]");
  for (json const& system : document["systems"]) CHECK(system["passed"] == true);
}
