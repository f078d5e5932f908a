#include <support/command.hpp>
#include <support/index_file.hpp>
#include <support/scratch_folder.hpp>
#include <support/shared_data.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

using json = nlohmann::ordered_json;
using libra::test::command_result;
using libra::test::content_of;
using libra::test::run_libra;
using libra::test::scratch_folder;

TEST_CASE("statistics of the sample list") {
  command_result const result =
      run_libra({"lengths", libra::test::source_path("data/sample/linux_files.len"), "--json", "-"});
  REQUIRE(result.exit_code == 0);
  json const document = json::parse(result.out);
  std::vector<std::string> keys;
  for (auto const& [key, value] : document.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"libra", "command", "config", "count", "tokens", "sum_squares", "min", "mean",
                                         "p50", "p90", "p99", "p999", "max", "share_over", "empty_documents"});
  CHECK(document["count"] == 4000);
  CHECK(document["tokens"] == 16578505);
  CHECK(document["p99"] == 38239);
  CHECK(document["max"] == 687245);
}

TEST_CASE("sums beyond 64 bits are written as plain digits") {
  command_result const result = run_libra({"lengths", "-", "--json", "-"}, "9223372036854775807\n");
  CHECK(result.exit_code == 0);
  CHECK(result.out.find("\"sum_squares\": 85070591730234615847396907784232501249,") != std::string::npos);
  CHECK(run_libra({"lengths", "-"}, "9223372036854775807\n9223372036854775807\n9223372036854775807\n").exit_code == 2);
}

TEST_CASE("empty documents are left out and counted") {
  command_result const result = run_libra({"lengths", "-", "--skip-empty", "--json", "-"}, "0\n4\n0\n6\n");
  REQUIRE(result.exit_code == 0);
  json const document = json::parse(result.out);
  CHECK(document["config"]["skip_empty"] == true);
  CHECK(document["count"] == 2);
  CHECK(document["min"] == 4);
  CHECK(document["empty_documents"] == 2);
}

TEST_CASE("a list can be written as plain text") {
  scratch_folder const folder;
  command_result const result =
      run_libra({"lengths", "-", "--write", folder.path("out.len")}, "# head\r\n7\r\n\r\n11 # eleven\r\n");
  CHECK(result.exit_code == 0);
  CHECK(content_of(folder.path("out.len")) == "7\n11\n");
  CHECK(result.out.find("documents") != std::string::npos);
}

TEST_CASE("every format is read, named columns and fields too, and standard input") {
  scratch_folder const folder;
  std::string const index = folder.write("a.idx", libra::test::index_file({5, 6}).bytes());
  std::string const table = folder.write("b.csv", "id,n\n0,7\n");
  std::string const objects = folder.write("c.jsonl", "{\"tokens\": 8}\n");
  command_result const result = run_libra({"lengths", index, table, objects, "-", "--column", "n", "--field", "tokens",
                                           "--write", folder.path("out"), "--json", "-"},
                                          "9\n");
  REQUIRE(result.exit_code == 0);
  CHECK(content_of(folder.path("out")) == "5\n6\n7\n8\n9\n");
  json const document = json::parse(result.out);
  CHECK(document["config"]["column"] == "n");
  CHECK(document["config"]["field"] == "tokens");
}

TEST_CASE("what is written as .npy is read again") {
  scratch_folder const folder;
  CHECK(run_libra({"lengths", "-", "--write", folder.path("out.npy")}, "7\n11\n").exit_code == 0);
  CHECK(content_of(folder.path("out.npy")).starts_with("\x93NUMPY"));
  CHECK(run_libra({"lengths", folder.path("out.npy"), "--write", folder.path("out.len")}).exit_code == 0);
  CHECK(content_of(folder.path("out.len")) == "7\n11\n");
}

TEST_CASE("a genuine index has the statistics of its golden values") {
  auto const index = libra::test::shared_data("megatron/zhihu_100000_text_document.idx");
  if (!index) return;
  command_result const result = run_libra({"lengths", *index, "--skip-empty", "--json", "-"});
  REQUIRE(result.exit_code == 0);
  json const document = json::parse(result.out);
  CHECK(document["count"].get<int>() + document["empty_documents"].get<int>() == 100000);
  CHECK(document["tokens"] == 14654123);
  CHECK(document["sum_squares"] == 11554476937);
}
