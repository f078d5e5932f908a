#include <libra/io/length_format.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using libra::length_format;
using libra::recognise;
using namespace std::string_view_literals;

TEST_CASE("content decides, then the name") {
  struct known {
    std::string_view name;
    std::string_view content;
    length_format format;
  };
  for (known const& c : std::vector<known>{
           {"x.len", "5\n6\n", length_format::text},
           {"x.len", "", length_format::text},
           {"x.len", "five\n", length_format::text},
           {"x.csv", "5\n6\n", length_format::text},
           {"x.npy", "7\n", length_format::text},
           {"x.idx", "7\n", length_format::text},
           {"x.txt", "5, 6\n", length_format::text},
           {"x.csv", "1,5\n2,6\n", length_format::csv},
           {"x.csv", "length\n5\n", length_format::csv},
           {"x", "id,length\n1,5\n", length_format::csv},
           {"x", "\n# c\nid\tlength\n", length_format::csv},
           {"x.jsonl", "\n {\"n\": 5}\n", length_format::jsonl},
           {"x.len", "{\"n\": 5}\n", length_format::jsonl},
           {"x.len", "\x93NUMPY\x01\0"sv, length_format::npy},
           {"x.npy", "\x05\0\0\0"sv, length_format::npy},
           {"x.len", "MMIDIDX\0\0\x01"sv, length_format::megatron_index},
           {"x.idx", "MMIDI"sv, length_format::megatron_index},
           {"x.idx", "garbage"sv, length_format::megatron_index},
       }) {
    CAPTURE(c.name);
    CAPTURE(c.content);
    CHECK(static_cast<int>(recognise(c.content, c.name).format) == static_cast<int>(c.format));
    CHECK(recognise(c.content, c.name).foreign.empty());
  }
}

TEST_CASE("a named column makes a table of what is no number") {
  libra::length_options const options{.column = "n"};
  CHECK(recognise("n\n5\n", "stdin", options).format == length_format::csv);
  CHECK(recognise("1,5\n", "stdin", options).format == length_format::csv);
  CHECK(recognise("5\n6\n", "stdin", options).format == length_format::text);
}

TEST_CASE("formats that are not read are named") {
  CHECK(recognise("TNTIDX\0\0\x01"sv, "x.idx").foreign == "a fairseq index (.idx)");
  CHECK(recognise("PK\x03\x04"sv, "x.npz").foreign == "a zip archive (.npz, .zip)");
  CHECK(recognise("\x1F\x8B\x08"sv, "x").foreign == "a gzip file");
  CHECK(recognise("PAR1\x15"sv, "x").foreign == "a Parquet file");
  CHECK(recognise("\n [1, 2]\n", "x.json").foreign == "a JSON array");
}
