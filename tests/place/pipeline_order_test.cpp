#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/place/pipeline_order.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace {

using libra::int128;
using libra::pipeline_order;

std::int64_t time_of(std::vector<int128> const& costs, std::vector<std::size_t> const& order, std::int32_t stages) {
  std::vector<libra::work> row;
  for (std::int32_t s = 0; s < stages; ++s) {
    for (std::size_t const m : order) {
      auto const cost = static_cast<std::int64_t>(costs[m]);
      row.push_back({cost / 7 * 2, cost - cost / 7 * 2});
    }
  }
  return libra::one_forward_one_backward(row, stages);
}

std::vector<std::size_t> numbers(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

TEST_CASE("one stage, or equal steps: the order stays") {
  CHECK(pipeline_order(std::vector<int128>{3, 1, 2}, 1) == numbers(3));
  CHECK(pipeline_order(std::vector<int128>{70, 70, 70, 70}, 4) == numbers(4));
}

TEST_CASE("a permutation that is never slower, and within a percent of the best of all orders") {
  libra::random_bits bits(67);
  std::int64_t found = 0;
  std::int64_t best = 0;
  for (int i = 0; i < 60; ++i) {
    std::vector<int128> costs(static_cast<std::size_t>(bits.between(1, 6)));
    for (int128& c : costs) {
      c = 7 * (bits.below(3) == 0 ? bits.between(50, 300) : bits.between(10, 40));
    }
    auto const stages = static_cast<std::int32_t>(bits.between(2, 5));
    std::vector<std::size_t> const order = pipeline_order(costs, stages);
    CAPTURE(i);
    std::vector<std::size_t> all = numbers(costs.size());
    REQUIRE(std::ranges::is_permutation(order, all));
    REQUIRE(time_of(costs, order, stages) <= time_of(costs, all, stages));
    std::int64_t least = time_of(costs, all, stages);
    while (std::ranges::next_permutation(all).found) {
      least = std::min(least, time_of(costs, all, stages));
    }
    found += time_of(costs, order, stages);
    best += least;
  }
  CHECK(found * 100 <= best * 101);
}

TEST_CASE("costs beyond 64 bits") {
  std::vector<int128> costs;
  for (int const c : {10, 300, 20, 30, 5}) {
    costs.push_back(int128{c} << 80);
  }
  CHECK(pipeline_order(costs, 3) == pipeline_order(std::vector<int128>{10 * 7, 300 * 7, 20 * 7, 30 * 7, 5 * 7}, 3));
}

}  // namespace
