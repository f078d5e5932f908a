#include <libra/core/indices_by.hpp>
#include <libra/core/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace {

TEST_CASE("indices are grouped, and rise in every group") {
  std::vector<std::size_t> const group{2, 0, 2, 3, 0, 2};
  auto const rows = libra::indices_by(group.size(), 5, [&](std::size_t i) { return group[i]; });
  REQUIRE(rows.size() == 5);
  CHECK(std::ranges::equal(rows[0], std::vector<std::uint32_t>{1, 4}));
  CHECK(rows[1].empty());
  CHECK(std::ranges::equal(rows[2], std::vector<std::uint32_t>{0, 2, 5}));
  CHECK(std::ranges::equal(rows[3], std::vector<std::uint32_t>{3}));
  CHECK(rows[4].empty());
}

TEST_CASE("nothing may be grouped") {
  auto const group = [](std::size_t) { return std::size_t{0}; };
  CHECK(libra::indices_by(0, 0, group).empty());
  CHECK(libra::indices_by(0, 3, group).size() == 3);
}

TEST_CASE("sorting by group is what a stable sort does") {
  libra::random_bits random(7);
  std::vector<std::pair<std::size_t, int>> values;
  for (int i = 0; i < 1000; ++i) {
    values.emplace_back(random.below(37), i);
  }
  auto expected = values;
  std::ranges::stable_sort(expected, {}, &std::pair<std::size_t, int>::first);
  libra::sort_by_group(values, 37, [](auto const& v) { return v.first; });
  CHECK(values == expected);
}

}  // namespace
