#include <libra/io/lengths_csv.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using lengths = std::vector<std::int64_t>;

namespace {

libra::length_list read(std::string_view text, libra::length_options const& options = {.column = "n"}) {
  libra::length_list list;
  libra::append_csv_lengths(text, "f.csv", options, list);
  return list;
}

std::string refusal(std::string_view text, libra::length_options const& options = {.column = "n"}) {
  try {
    static_cast<void>(read(text, options));
  } catch (libra::input_error const& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("one column of a table") {
  CHECK(read("id,n\n1,5\n2,6").lengths == lengths{5, 6});
  CHECK(read("\n\nn,id\r\n5,a\r\n\r\n 6 ,b\r\n").lengths == lengths{5, 6});
  CHECK(read("id\tn\n1\t5\n").lengths == lengths{5});
}

TEST_CASE("the delimiter is what the header has most of") {
  CHECK(read("a;b;n\n1,5;2;6\n").lengths == lengths{6});
  CHECK(read("n\n7\n").lengths == lengths{7});
}

TEST_CASE("quoted fields may hold delimiters, quotes and line ends") {
  CHECK(read("\"text\",\"n\"\n\"a, \"\"b\"\"\nc\",5\n\"\",\"6\"\n").lengths == lengths{5, 6});
}

TEST_CASE("zeros pass only when they may") {
  libra::length_list const list = read("n\n0\n3\n", {.skip_empty = true, .column = "n"});
  CHECK(list.lengths == lengths{0, 3});
  CHECK(list.empty_documents == 1);
}

TEST_CASE("what is wrong is named with its line") {
  CHECK(refusal("id,m\n1,2\n") == "f.csv:1: has no column 'n', expected one of 'id', 'm'");
  CHECK(refusal("n,n\n1,2\n") == "f.csv:1: has column 'n' twice, expected it once");
  CHECK(refusal("id,n\n1,2\n", {}) ==
        "f.csv:1: is the header of a table (CSV) with 'id', 'n'; expected the name of the column that holds the "
        "lengths (--column)");
  CHECK(refusal("id,n\n1,2\n3\n") == "f.csv:3: ends after 1 fields, expected column 'n' as field 2");
  CHECK(refusal("n\n1.5\n") == "f.csv:2: length is '1.5', expected an integer in column 'n'");
  CHECK(refusal("n,m\n,1\n") == "f.csv:2: length is '', expected an integer in column 'n'");
  CHECK(refusal("n\n-1\n") == "f.csv:2: length is -1, expected at least 1");
  CHECK(refusal("n\n0\n") == "f.csv:2: length is 0, expected at least 1 (skip-empty lets zeros pass)");
  CHECK(refusal("n\n9223372036854775808\n") ==
        "f.csv:2: length is '9223372036854775808', beyond 64 bits; expected an integer from 1 to 9223372036854775807");
  CHECK(refusal("t,n\n\"two\nlines\",x\n") == "f.csv:3: length is 'x', expected an integer in column 'n'");
  for (std::string_view const text : {"n\n\"5", "n\n5\"6\n", "n\n\"5\"6\n", "n\r5\r6\r"}) {
    CAPTURE(text);
    CHECK(refusal(text).find(": is no CSV, expected ") != std::string::npos);
  }
}
