#include <libra/model/pipeline.hpp>

#include <libra/core/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using libra::one_forward_one_backward;
using libra::work;

namespace {

/// The same micro-steps on every stage.
std::vector<work> repeated(std::vector<work> const& micro_steps, std::int32_t stages) {
  std::vector<work> costs;
  for (std::int32_t s = 0; s < stages; ++s) {
    costs.insert(costs.end(), micro_steps.begin(), micro_steps.end());
  }
  return costs;
}

}  // namespace

TEST_CASE("equal micro-steps take (M + S - 1) * (f + b)") {
  for (std::int32_t const stages : {1, 2, 3, 4, 8}) {
    for (std::int32_t const micro_steps : {1, 2, 3, 7, 16}) {
      std::vector<work> const costs(static_cast<std::size_t>(stages * micro_steps), work{10, 25});
      CHECK(one_forward_one_backward(costs, stages) == (micro_steps + stages - 1) * 35);
    }
  }
}

TEST_CASE("one stage takes the sum") {
  CHECK(one_forward_one_backward(std::vector<work>{{3, 4}, {50, 60}, {7, 8}}, 1) == 132);
  CHECK(one_forward_one_backward({}, 1) == 0);
}

TEST_CASE("two stages and two micro-steps by hand") {
  // Stage 0: F0 [0, 1) F1 [1, 11) B0 [11, 13) B1 [41, 61); stage 1: F0 [1, 2) B0 [2, 4) F1 [11, 21) B1 [21, 41).
  CHECK(one_forward_one_backward(repeated({{1, 2}, {10, 20}}, 2), 2) == 61);
}

TEST_CASE("a stage's costs are its own") {
  // The slow second stage sets the pace: its two micro-steps between the first's first forward and last backward.
  CHECK(one_forward_one_backward(std::vector<work>{{1, 1}, {1, 1}, {10, 10}, {10, 10}}, 2) == 1 + 40 + 1);
}

TEST_CASE("no order beats the busiest stage or the longest micro-step, and all in a row is the most") {
  libra::random_bits bits(7);
  for (int round = 0; round < 200; ++round) {
    auto const stages = static_cast<std::int32_t>(bits.between(1, 6));
    auto const micro_steps = static_cast<std::size_t>(bits.between(1, 9));
    std::vector<work> costs;
    for (std::size_t i = 0; i < static_cast<std::size_t>(stages) * micro_steps; ++i) {
      costs.push_back({bits.between(0, 100), bits.between(0, 100)});
    }
    std::int64_t total = 0;
    std::int64_t bound = 0;
    for (std::int32_t s = 0; s < stages; ++s) {
      std::int64_t busy = 0;
      for (std::size_t m = 0; m < micro_steps; ++m) {
        work const& w = costs[static_cast<std::size_t>(s) * micro_steps + m];
        busy += w.forward + w.backward;
      }
      bound = std::max(bound, busy);
      total += busy;
    }
    for (std::size_t m = 0; m < micro_steps; ++m) {
      std::int64_t through = 0;
      for (std::size_t i = m; i < costs.size(); i += micro_steps) {
        through += costs[i].forward + costs[i].backward;
      }
      bound = std::max(bound, through);
    }
    std::int64_t const time = one_forward_one_backward(costs, stages);
    CHECK(time >= bound);
    CHECK(time <= total);
  }
}

TEST_CASE("stages that do not divide the costs are an error") {
  CHECK_THROWS_WITH_AS(static_cast<void>(one_forward_one_backward(std::vector<work>(5), 2)),
                       "stages is 2, expected a divisor of the 5 costs", libra::input_error);
  CHECK_THROWS_AS(static_cast<void>(one_forward_one_backward({}, 0)), libra::input_error);
}
