#include <libra/core/ragged.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace {

using libra::ragged;

ragged<int> three_rows() {
  ragged<int> rows;
  rows.push_back(1);
  rows.push_back(2);
  rows.close_row();
  rows.close_row();
  rows.push_row(std::array{3, 4, 5});
  return rows;
}

TEST_CASE("a new one has no rows") {
  ragged<int> const rows;
  CHECK(rows.size() == 0);
  CHECK(rows.empty());
  CHECK(rows.values().empty());
  CHECK(std::ranges::equal(rows.offsets(), std::array<std::size_t, 1>{0}));
}

TEST_CASE("rows keep their values, empty rows included") {
  ragged<int> const rows = three_rows();
  REQUIRE(rows.size() == 3);
  CHECK_FALSE(rows.empty());
  CHECK(std::ranges::equal(rows[0], std::array{1, 2}));
  CHECK(rows[1].empty());
  CHECK(std::ranges::equal(rows[2], std::array{3, 4, 5}));
  CHECK(std::ranges::equal(rows.values(), std::array{1, 2, 3, 4, 5}));
  CHECK(std::ranges::equal(rows.offsets(), std::array<std::size_t, 4>{0, 2, 2, 5}));
}

TEST_CASE("a row that is not closed is no row yet") {
  ragged<int> rows = three_rows();
  rows.push_back(6);
  CHECK(rows.size() == 3);
  rows.close_row();
  REQUIRE(rows.size() == 4);
  CHECK(std::ranges::equal(rows[3], std::array{6}));
}

TEST_CASE("values can be changed in place") {
  ragged<int> rows = three_rows();
  rows[2][1] = 40;
  CHECK(std::ranges::equal(rows.values(), std::array{1, 2, 3, 40, 5}));
}

TEST_CASE("equality looks at values and at where rows end") {
  ragged<int> other = three_rows();
  CHECK(other == three_rows());
  other[0][0] = 9;
  CHECK(other != three_rows());
  ragged<int> joined;
  joined.push_row(std::array{1, 2, 3, 4, 5});
  CHECK(joined != three_rows());
}

TEST_CASE("clear leaves no rows and keeps the capacity") {
  ragged<int> rows;
  rows.reserve(4, 100);
  rows.push_row(std::vector<int>(100, 1));
  int const* const storage = rows.values().data();
  rows.clear();
  CHECK(rows == ragged<int>());
  rows.push_row(std::vector<int>(100, 2));
  CHECK(rows.values().data() == storage);
  CHECK(rows.size() == 1);
}

}  // namespace
