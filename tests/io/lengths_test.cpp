#include <libra/io/lengths.hpp>

#include <support/index_file.hpp>
#include <support/scratch_folder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using libra::read_lengths;
using lengths = std::vector<std::int64_t>;
using paths = std::vector<std::string>;

namespace {

void read(paths const& files) { static_cast<void>(read_lengths(files)); }

}  // namespace

TEST_CASE("several files are joined in order") {
  libra::test::scratch_folder const folder;
  paths const files{folder.write("b", "3\n4\n"), folder.write("empty", "# nothing\n"), folder.write("a", "1\n0\n")};
  libra::length_list const list = read_lengths(files, {.skip_empty = true});
  CHECK(list.lengths == lengths{3, 4, 1, 0});
  CHECK(list.empty_documents == 1);
}

TEST_CASE("errors name the file and the line") {
  libra::test::scratch_folder const folder;
  std::string const bad = folder.write("bad.len", "5\nx\n");
  CHECK_THROWS_WITH_AS(read(paths{folder.write("good.len", "5\n"), bad}),
                       (bad + ":2: length is 'x', expected one integer a line").c_str(), libra::input_error);
  CHECK_THROWS_AS(read(paths{folder.path("missing")}), libra::input_error);
}

TEST_CASE("a list without lengths is an error") {
  libra::test::scratch_folder const folder;
  std::string const empty = folder.write("empty", "");
  std::string const comments = folder.write("comments", "# one\n\n# two");
  CHECK_THROWS_WITH_AS(read(paths{empty}), (empty + ": holds no lengths, expected at least one").c_str(),
                       libra::input_error);
  CHECK_THROWS_WITH_AS(read(paths{empty, comments}),
                       (empty + ", " + comments + ": holds no lengths, expected at least one").c_str(),
                       libra::input_error);
}

TEST_CASE("files of every format are joined") {
  libra::test::scratch_folder const folder;
  lengths const of_npy{3, 4};
  paths const files{
      folder.write("a.len", "1\n2\n"),
      folder.write("b", libra::npy_file(of_npy)),
      folder.write("c", libra::test::index_file({5, 6}).bytes()),
      folder.write("d", "id,n\n0,7\n"),
      folder.write("e", "{\"tokens\": 8}\n"),
  };
  CHECK(read_lengths(files, {.column = "n", .field = "tokens"}).lengths == lengths{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("empty documents of binary formats are named by their byte, or pass") {
  libra::test::scratch_folder const folder;
  std::string const index = folder.write("a.idx", libra::test::index_file({5, 0, 6}).bytes());
  CHECK_THROWS_WITH_AS(read(paths{index}),
                       (index + ": byte 38: length is 0, expected at least 1 (skip-empty lets zeros pass)").c_str(),
                       libra::input_error);
  libra::length_list const list = read_lengths(paths{index}, {.skip_empty = true});
  CHECK(list.lengths == lengths{5, 0, 6});
  CHECK(list.empty_documents == 1);
}

TEST_CASE("formats that are not read are refused by name") {
  libra::test::scratch_folder const folder;
  std::string const path = folder.write("x.len", "\x1F\x8B\x08");
  CHECK_THROWS_WITH_AS(
      read(paths{path}),
      (path + ": is a gzip file, expected lengths as text, CSV, JSONL, .npy or Megatron-LM .idx").c_str(),
      libra::input_error);
}
