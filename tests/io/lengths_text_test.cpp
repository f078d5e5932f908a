#include <libra/io/lengths_text.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using libra::append_lengths;
using libra::length_list;
using lengths = std::vector<std::int64_t>;

namespace {

length_list read(std::string_view text, bool skip_empty = false) {
  length_list list;
  append_lengths(text, "f.len", {.skip_empty = skip_empty}, list);
  return list;
}

}  // namespace

TEST_CASE("one integer a line") {
  CHECK(read("1\n22\n333\n").lengths == lengths{1, 22, 333});
  CHECK(read("7").lengths == lengths{7});
  CHECK(read("").lengths.empty());
  CHECK(read("9223372036854775807\n").lengths == lengths{INT64_MAX});
}

TEST_CASE("comments, blank lines, spaces, CRLF and a byte order mark pass") {
  CHECK(read("# head\n\n 5 \n\t6 # six\n   \n7#\r\n8\r\n#9").lengths == lengths{5, 6, 7, 8});
  CHECK(read("\xEF\xBB\xBF"
             "5\n")
            .lengths == lengths{5});
  CHECK(read("# na\xC3\xAFve\n5\n").lengths == lengths{5});
}

TEST_CASE("zeros pass only when they may, and are counted") {
  length_list const list = read("0\n5\n00\n", true);
  CHECK(list.lengths == lengths{0, 5, 0});
  CHECK(list.empty_documents == 2);
  CHECK(read("5\n", true).empty_documents == 0);
}

TEST_CASE("lists are appended") {
  length_list list;
  append_lengths("1\n2\n", "a", {}, list);
  append_lengths("3\n", "b", {}, list);
  CHECK(list.lengths == lengths{1, 2, 3});
}

TEST_CASE("what is no length is named with its line") {
  struct bad {
    std::string_view text;
    std::string_view message;
  };
  std::string_view const expected_one = ", expected one integer a line";
  using namespace std::string_view_literals;
  bad const cases[]{
      {"5\nfive\n", "f.len:2: length is 'five'"},
      {"5\n\n# c\n1.5\n", "f.len:4: length is '1.5'"},
      {"3 4\n", "f.len:1: length is '3 4'"},
      {"3,000\n", "f.len:1: length is '3,000'"},
      {"+3\n", "f.len:1: length is '+3'"},
      {"0x10\n", "f.len:1: length is '0x10'"},
      {"1e3\n", "f.len:1: length is '1e3'"},
      {"--3\n", "f.len:1: length is '--3'"},
      {"-\n", "f.len:1: length is '-'"},
      {"5\r6\r", "f.len:1: length is '5\\x0d6'"},
      {"\x80\x02\n", "f.len:1: length is '\\x80\\x02'"},
  };
  for (bad const& c : cases) {
    CAPTURE(c.text);
    CHECK_THROWS_WITH_AS(read(c.text), (std::string(c.message) + std::string(expected_one)).c_str(),
                         libra::input_error);
  }
  CHECK_THROWS_WITH_AS(read("1\n-5\n"), "f.len:2: length is -5, expected at least 1", libra::input_error);
  CHECK_THROWS_WITH_AS(read("1\n-5\n", true), "f.len:2: length is -5, expected at least 1", libra::input_error);
  CHECK_THROWS_WITH_AS(read("0\n"), "f.len:1: length is 0, expected at least 1 (skip-empty lets zeros pass)",
                       libra::input_error);
  for (std::string_view const beyond :
       {"9223372036854775808", "-9223372036854775809", "99999999999999999999999999999"}) {
    CHECK_THROWS_WITH_AS(read(beyond),
                         ("f.len:1: length is '" + std::string(beyond) +
                          "', beyond 64 bits; expected an integer from 1 to 9223372036854775807")
                             .c_str(),
                         libra::input_error);
  }
  CHECK_THROWS_WITH_AS(read("5\n\0\n"sv), "f.len:2: holds a zero byte, expected text with one integer a line",
                       libra::input_error);
  CHECK_THROWS_WITH_AS(read("5 # \0\n"sv), "f.len:1: holds a zero byte, expected text with one integer a line",
                       libra::input_error);
}

TEST_CASE("a million lines are read in a moment") {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += std::to_string(1 + i * 7919LL % 1'000'003) + '\n';
  auto const start = std::chrono::steady_clock::now();
  length_list const list = read(text);
  std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
  CHECK(list.lengths.size() == 1'000'000);
  // A tenth of that is usual; sanitizers and busy machines need the rest.
  CHECK(took.count() < 2.0);
}
