#include "support/printing.hpp"

#include <libra/program/common_ranges.hpp>

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

namespace {

using libra::row_range;

struct named {
  char name{};
  row_range tokens;
};

/// Each range, and the names of the pieces that cover it.
std::string ranges_of(std::vector<named> const& pieces) {
  std::string text;
  libra::detail::common_ranges<named> cut;
  cut(std::span(pieces), [&](row_range range, std::vector<named>& covering) {
    text += std::to_string(range.begin) + "-" + std::to_string(range.end) + ":";
    for (named const& p : covering) {
      text += p.name;
    }
    covering.clear();  // the visitor's own
    text += " ";
  });
  return text;
}

TEST_CASE("ranges end where the set of pieces changes") {
  CHECK(ranges_of({{'a', {0, 10}}, {'b', {0, 4}}, {'c', {2, 10}}}) == "0-2:ab 2-4:abc 4-10:ac ");
  CHECK(ranges_of({{'a', {0, 10}}, {'b', {3, 5}}, {'c', {12, 20}}}) == "0-3:a 3-5:ab 5-10:a 12-20:c ");
}

TEST_CASE("what nothing covers is no range") {
  CHECK(ranges_of({}).empty());
  CHECK(ranges_of({{'a', {0, 2}}, {'b', {6, 8}}}) == "0-2:a 6-8:b ");
}

}  // namespace
