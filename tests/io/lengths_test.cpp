#include <libra/io/lengths.hpp>

#include <support/scratch_folder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
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

TEST_CASE("other formats are recognised by their content and refused by name") {
  libra::test::scratch_folder const folder;
  using namespace std::string_view_literals;
  struct foreign {
    std::string name;
    std::string_view content;
    std::string_view format;
  };
  foreign const cases[]{
      {"x.idx", "MMIDIDX\0\0\x01\0\0\0"sv, "a Megatron-LM index (.idx)"},
      {"numbers.len", "MMIDIDX\0\0\x01\0\0\0"sv, "a Megatron-LM index (.idx)"},
      {"old.idx", "TNTIDX\0\0\x01"sv, "a fairseq index (.idx)"},
      {"x.npy", "\x93NUMPY\x01\0"sv, "a NumPy array (.npy)"},
      {"x.npz", "PK\x03\x04"sv, "a zip archive (.npz, .zip)"},
      {"x.len", "\x1F\x8B\x08"sv, "a gzip file"},
      {"x.parquet", "PAR1\x15"sv, "a Parquet file"},
      {"x.jsonl", "{\"length\": 5}\n", "JSON"},
      {"x.json", "\n [1, 2]\n", "JSON"},
      {"x.txt", "id,length\n1,5\n", "a table (CSV)"},
      {"x.csv", "length\n5\n", "a table (CSV)"},
      {"y.csv", "1,5\n2,6\n", "a table (CSV)"},
  };
  for (foreign const& c : cases) {
    std::string const path = folder.write(c.name, c.content);
    CAPTURE(path);
    CHECK_THROWS_WITH_AS(
        read(paths{path}),
        (path + ": is " + std::string(c.format) + ", expected plain text with one integer a line").c_str(),
        libra::input_error);
  }
  // The name alone says nothing: a list is a list.
  CHECK(read_lengths(paths{folder.write("plain.csv", "5\n6\n"), folder.write("plain.npy", "7\n")}).lengths ==
        lengths{5, 6, 7});
}
