#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/place/levels.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using levels = std::vector<std::int64_t>;

/// The definitions, from scratch. Shape of `at`: `[steps, pools]`.
std::int64_t layer_cost(levels const& at, std::size_t pools, std::int32_t stages) {
  std::int64_t sum = 0;
  std::int64_t most = 0;
  for (std::size_t p = 0; p < at.size(); p += pools) {
    std::int64_t const step = *std::max_element(at.begin() + static_cast<std::ptrdiff_t>(p),
                                                at.begin() + static_cast<std::ptrdiff_t>(p + pools));
    sum += step;
    most = std::max(most, step);
  }
  return sum + most * (stages - 1);
}
std::int64_t batch_cost(levels const& at, std::size_t pools, std::int32_t stages) {
  std::int64_t worst = 0;
  for (std::size_t g = 0; g < pools; ++g) {
    std::int64_t sum = 0;
    std::int64_t most = 0;
    for (std::size_t p = g; p < at.size(); p += pools) {
      sum += at[p];
      most = std::max(most, at[p]);
    }
    worst = std::max(worst, sum + most * (stages - 1));
  }
  return worst;
}

TEST_CASE("by hand: two steps of two pools") {
  levels const at{5, 3, 2, 4};
  libra::layer_levels<std::int64_t> layer(2, 2, 1);
  layer.reset(at);
  CHECK(layer.value() == 9);
  CHECK(layer.binding(1) == 0);
  CHECK(layer.binding(2) == 3);
  CHECK(layer.rise(0, 1, 4, 4) == -1);
  libra::layer_levels<std::int64_t> piped(2, 2, 3);
  piped.reset(at);
  CHECK(piped.value() == 9 + 2 * 5);
  libra::batch_levels<std::int64_t> batch(2, 2, 1);
  batch.reset(at);
  CHECK(batch.value() == 7);
  CHECK(batch.rise(0, 1, 4, 4) == 1);  // 4 + 4 in the second column
}

template <template <class> class Levels, class Cost>
void check_against(Cost const& cost) {
  libra::random_bits bits(66);
  for (int i = 0; i < 300; ++i) {
    auto const steps = static_cast<std::size_t>(bits.between(1, 4));
    auto const pools = static_cast<std::size_t>(bits.between(1, 5));
    auto const stages = static_cast<std::int32_t>(bits.between(1, 3));
    levels at(steps * pools);
    for (std::int64_t& level : at) {
      level = bits.between(0, 9);
    }
    if (at.size() < 2) {
      continue;
    }
    Levels<std::int64_t> tracked(steps, pools, stages);
    tracked.reset(at);
    REQUIRE(tracked.value() == cost(at, pools, stages));
    for (int move = 0; move < 20; ++move) {
      auto const from = static_cast<std::size_t>(bits.below(at.size()));
      std::size_t to = from;
      while (to == from) {
        to = static_cast<std::size_t>(bits.below(at.size()));
      }
      std::int64_t const lowered = bits.between(0, at[from]);
      std::int64_t const raised = at[to] + bits.between(0, 5);
      levels changed = at;
      changed[from] = lowered;
      changed[to] = raised;
      REQUIRE(tracked.rise(from, to, lowered, raised) == cost(changed, pools, stages) - cost(at, pools, stages));
      if (bits.below(2) == 0) {
        tracked.set(from, to, lowered, raised);
        at = changed;
        REQUIRE(tracked.value() == cost(at, pools, stages));
        REQUIRE(tracked.level(to) == raised);
      }
    }
  }
}

TEST_CASE("every rise is the difference of the costs, whatever was set before") {
  check_against<libra::layer_levels>(layer_cost);
  check_against<libra::batch_levels>(batch_cost);
}

}  // namespace
