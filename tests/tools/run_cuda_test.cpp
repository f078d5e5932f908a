#include <support/command.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

// `libra run --backend cuda`: on the double of the CUDA runtime, and linked with the toolkit on a machine that shows no
// device.

using json = nlohmann::ordered_json;
using libra::test::command_result;
using libra::test::run_libra;
using words = std::vector<std::string>;

namespace {

constexpr std::string_view lengths = "50\n60\n10\n25\n40\n25\n30\n64\n";

words run_of(words const& layout, words const& more = {}) {
  words arguments{"run",        "-", "--window",   "64", "--q-heads", "2",
                  "--kv-heads", "1", "--head-dim", "16", "--backend", "cuda"};
  arguments.insert(arguments.end(), layout.begin(), layout.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

command_result run_on_double(int devices, words const& arguments, std::string_view input = lengths) {
  setenv("LIBRA_DOUBLE_DEVICES", std::to_string(devices).c_str(), 1);
  return run_libra(arguments, input, "LIBRA_CUDA_DOUBLE_COMMAND");
}

void check_passed(command_result const& result, std::size_t ranks) {
  CAPTURE(result.err);
  REQUIRE(result.exit_code == 0);
  json const document = json::parse(result.out);
  CHECK(document["config"]["backend"] == "cuda");
  REQUIRE(document["systems"].size() == 2);
  for (json const& system : document["systems"]) {
    CHECK(system["passed"] == true);
    CHECK(system["busy_seconds"].size() == ranks);
  }
}

void check_refused(command_result const& result, std::string_view says) {
  CAPTURE(result.err);
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  CHECK(result.error_lines() == 1);
  CHECK(result.err.starts_with("libra: "));
  CHECK(result.err.find(says) != std::string::npos);
}

}  // namespace

TEST_CASE("on one device the ranks are threads") {
  check_passed(run_on_double(1, run_of({"--dp", "2", "--cp", "2", "--pool", "2"}, {"--json", "-"})), 4);
  command_result const told = run_on_double(1, run_of({"--dp", "2", "--cp", "1", "--pool", "1"}));
  CHECK(told.exit_code == 0);
  CHECK(told.out.find("2 ranks as threads (on one CUDA device)") != std::string::npos);
}

TEST_CASE("on several devices the command starts itself as one process per rank") {
  if (run_libra({"run", "-", "--backend", "mpi"}, "100\n").err.find("built without") != std::string::npos) {
    MESSAGE("skipped: this libra was built without MPI");
    return;
  }
  // Pools of one rank each: the double's NCCL reaches no other process.
  words const layout{"--dp", "2", "--cp", "1", "--pool", "1"};
  check_passed(run_on_double(2, run_of(layout, {"--json", "-"})), 2);
  command_result const told = run_on_double(2, run_of(layout));
  CHECK(told.exit_code == 0);
  CHECK(told.out.find("2 ranks as processes (a CUDA device each)") != std::string::npos);
}

TEST_CASE("a pool whose other processes cannot be reached fails by time-out, on every rank") {
  if (run_libra({"run", "-", "--backend", "mpi"}, "100\n").err.find("built without") != std::string::npos) {
    return;
  }
  command_result const result = run_on_double(2, run_of({"--dp", "1", "--cp", "2", "--pool", "1"}, {"--timeout", "1"}));
  CAPTURE(result.err);
  CHECK(result.exit_code == 1);
  CHECK(result.out.empty());
  CHECK(result.err.find("other ranks did not come within 1000 ms") != std::string::npos);
}

TEST_CASE("no device is one line and exit code 2, before the list is read") {
  for (std::string_view const input : {lengths, std::string_view("12\nx\n")}) {
    check_refused(run_on_double(0, run_of({}), input),
                  "--backend is cuda, but CUDA finds no device on this machine, expected host");
  }
}

TEST_CASE("the command linked with the toolkit says the same where it is shown no device") {
  if (std::getenv("LIBRA_CUDA_LINKED_COMMAND") == nullptr) {
    MESSAGE("skipped: nvcc was not found");
    return;
  }
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  check_refused(run_libra(run_of({}), lengths, "LIBRA_CUDA_LINKED_COMMAND"),
                "--backend is cuda, but CUDA finds no device on this machine, expected host");
}

TEST_CASE("a command that was built without the toolkit says so") {
  command_result const result = run_libra(run_of({}), lengths);
  check_refused(result, "expected host");
}
