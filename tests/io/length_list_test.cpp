#include <libra/io/length_list.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

TEST_CASE("lines are numbered, with their ends taken off") {
  std::vector<std::pair<std::int64_t, std::string>> seen;
  libra::detail::line_reader lines(
      "\xEF\xBB\xBF"
      "a\r\n\nb");
  std::string with_ends;
  while (lines.next()) {
    seen.emplace_back(lines.number(), lines.line());
    with_ends += lines.line_with_end();
  }
  CHECK(seen == std::vector<std::pair<std::int64_t, std::string>>{{1, "a\r"}, {2, ""}, {3, "b"}});
  CHECK(with_ends == "a\r\n\nb");
}

TEST_CASE("a place is only put into words for what is no length") {
  libra::length_list list;
  int asked = 0;
  auto const place = [&] {
    ++asked;
    return std::string("here");
  };
  libra::append_length(5, {}, list, place);
  libra::append_length(0, {.skip_empty = true}, list, place);
  CHECK(list.lengths == std::vector<std::int64_t>{5, 0});
  CHECK(list.empty_documents == 1);
  CHECK_THROWS_WITH_AS(libra::append_length(-5, {.skip_empty = true}, list, place),
                       "here: length is -5, expected at least 1", libra::input_error);
  CHECK(list.lengths.size() == 2);
}
