#include <support/command.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

using json = nlohmann::ordered_json;
using libra::test::command_result;
using libra::test::run_libra;
using words = std::vector<std::string>;

namespace {

std::string_view constexpr lengths = "500\n60\n100\n250\n40\n250\n30\n10\n90\n128\n128\n100\n";

words run_of(std::string const& list, words const& more) {
  words arguments{"run", list,        "--window", "256",        "--dp", "2",          "--cp", "2",         "--pool",
                  "1",   "--q-heads", "4",        "--kv-heads", "2",    "--head-dim", "16",   "--backend", "mpi"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST_CASE("the command starts itself as one process per rank, whether the list is a file or standard input") {
  libra::test::scratch_folder const folder;
  std::string const file = folder.write("lengths", lengths);
  for (std::string const& list : {file, std::string("-")}) {
    command_result const result = run_libra(run_of(list, {"--json", "-"}), lengths);
    CAPTURE(result.err);
    REQUIRE(result.exit_code == 0);
    json const document = json::parse(result.out);
    CHECK(document["config"]["backend"] == "mpi");
    REQUIRE(document["systems"].size() == 2);
    for (json const& system : document["systems"]) {
      CHECK(system["passed"] == true);
      CHECK(system["busy_seconds"].size() == 4);
      for (json const& busy : system["busy_seconds"]) CHECK(busy.get<double>() > 0);
    }
  }
}

TEST_CASE("bad input is told once, before anything is started") {
  command_result const result = run_libra(run_of("-", {}), "12\nx\n");
  CHECK(result.exit_code == 2);
  CHECK(result.error_lines() == 1);
  CHECK(result.err.find("stdin:2") != std::string::npos);
}

TEST_CASE("without mpirun the line to type is told") {
  words const arguments = run_of("-", {"--compare", "pooled"});
  setenv("PATH_BEFORE", std::getenv("PATH"), 1);
  setenv("PATH", "/nowhere", 1);
  command_result const result = run_libra(arguments, lengths);
  setenv("PATH", std::getenv("PATH_BEFORE"), 1);
  CHECK(result.exit_code == 1);
  CHECK(result.error_lines() == 1);
  CHECK(result.err.find("mpirun -n 4 --oversubscribe libra run - --window 256") != std::string::npos);
}

TEST_CASE("a job of another size is told the line to type") {
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  libra::test::scratch_folder const folder;
  command_result const result = run_libra(run_of(folder.write("lengths", lengths), {}));
  unsetenv("OMPI_COMM_WORLD_SIZE");
  CHECK(result.exit_code == 2);
  CHECK(result.err.find("mpirun started 1 processes, the layout has 4 ranks. The line is: mpirun -n 4") !=
        std::string::npos);
}

}  // namespace
