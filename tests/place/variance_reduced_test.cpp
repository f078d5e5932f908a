#include "support/placing.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/place/longest_first.hpp>
#include <libra/place/variance_reduced.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <type_traits>
#include <vector>

namespace {

using libra::int128;
using libra::placement;
using libra::variance_reduced;
using libra::test::placing;

static_assert(std::is_trivially_copyable_v<variance_reduced>);

int128 achieved(placing const& p, placement const& placed) {
  return libra::test::makespan(p, placed.at, libra::test::common_scale(p));
}

TEST_CASE("by hand: the outliers share a step, so that the other step is light") {
  placing p;
  p.layout = {.window_tokens = 10, .dp = 4, .cp = 1, .pool = 2, .micro_steps = 2};
  p.pools = libra::pool_partition{{0, 2, 4}};
  p.work = {100, 1, 1, 1, 100, 1, 1, 1};
  // 101 + 2 over two slots each; apart they would cost 101 + 101.
  CHECK(achieved(p, variance_reduced{}(p.work, p.layout, p.pools)) == (101 + 2) * 2);
}

TEST_CASE("permutes each global batch, and refining makes it worse by a part in 500 at most") {
  libra::random_bits bits(15);
  for (int i = 0; i < 1000; ++i) {
    placing const p = libra::test::random_placing(bits, 9, 4);
    INFO("case ", i, ": ", p.describe());
    placement const levelled = variance_reduced{.refine_moves = 0}(p.work, p.layout, p.pools);
    placement const refined = variance_reduced{}(p.work, p.layout, p.pools);
    REQUIRE(libra::test::is_permutation_of_batches(p, levelled.at));
    REQUIRE(libra::test::is_permutation_of_batches(p, refined.at));
    REQUIRE(achieved(p, refined) * 500 <= achieved(p, levelled) * 501);
    REQUIRE(refined.dp == p.layout.dp);
    REQUIRE(refined.micro_steps == p.layout.micro_steps);
  }
}

TEST_CASE("within a few percent of the best placement of small batches, on average") {
  libra::random_bits bits(16);
  int128 best = 0;
  int128 found = 0;
  int optimal = 0;
  constexpr int cases = 60;
  for (int i = 0; i < cases; ++i) {
    placing p;
    p.layout = {.window_tokens = 10, .dp = 4, .cp = 1, .pool = 2, .micro_steps = 2};
    p.pools = libra::pool_partition{{0, 2, 4}};
    for (int s = 0; s < 8; ++s) {
      p.work.push_back(bits.between(1, 100));
    }
    int128 const least = libra::test::least_makespan(p, 0, 4);
    int128 const got = libra::test::makespan(p, variance_reduced{}(p.work, p.layout, p.pools).at, 4);
    REQUIRE(got >= least);
    best += least;
    found += got;
    optimal += got == least ? 1 : 0;
  }
  CHECK(found * 100 <= best * 103);
  CHECK(optimal * 3 >= cases);
}

TEST_CASE("better than longest first, and than no placement, where outliers are rare") {
  libra::random_bits bits(17);
  int128 packed = 0;
  int128 longest = 0;
  int128 reduced = 0;
  for (int i = 0; i < 20; ++i) {
    placing p;
    p.layout = {.window_tokens = 10, .dp = 32, .cp = 1, .pool = 8, .micro_steps = 4};
    p.pools = libra::fixed_size{}(p.layout, {});
    for (int s = 0; s < 128; ++s) {
      p.work.push_back(bits.below(20) == 0 ? bits.between(200, 1000) : bits.between(20, 40));
    }
    packed += achieved(p, libra::as_packed{}(p.work, p.layout, p.pools));
    longest += achieved(p, libra::longest_first{}(p.work, p.layout, p.pools));
    reduced += achieved(p, variance_reduced{}(p.work, p.layout, p.pools));
  }
  CHECK(reduced < longest);
  CHECK(longest < packed);
}

/// Sum over a pool number's steps, largest over the pools, in work per slot.
int128 largest_pool_sum(placing const& p, placement const& placed) {
  int128 most = 0;
  for (std::int32_t g = 0; g < p.pools.size(); ++g) {
    int128 sum = 0;
    for (std::int32_t m = 0; m < placed.steps(); ++m) {
      for (libra::sequence_id const s : placed.pool(libra::micro_step_id(m), libra::pool_id(g), p.pools)) {
        sum += p.work[s.index()];
      }
    }
    most = std::max(most, sum * (libra::test::common_scale(p) / p.pools.slots(libra::pool_id(g))));
  }
  return most;
}

placing long_tailed(libra::random_bits& bits) {
  placing p;
  p.layout = {.window_tokens = 10, .dp = 16, .cp = 1, .pool = 4, .micro_steps = 4};
  p.pools = libra::fixed_size{}(p.layout, {});
  for (int s = 0; s < 64; ++s) {
    p.work.push_back(bits.below(16) == 0 ? bits.between(2000, 7000) : bits.between(200, 400));
  }
  return p;
}

TEST_CASE("heavy sequences are not scattered over light steps") {
  libra::random_bits bits(19);
  int128 found = 0;
  int128 sorted = 0;
  for (int i = 0; i < 20; ++i) {
    placing p;
    p.layout = {.window_tokens = 10, .dp = 16, .cp = 1, .pool = 4, .micro_steps = 4};
    p.pools = libra::fixed_size{}(p.layout, {});
    for (int s = 0; s < 64; ++s) {
      p.work.push_back(s == 0 ? 100'000 : bits.between(1, 100) * bits.between(1, 100));
    }
    placement const placed = variance_reduced{}(p.work, p.layout, p.pools);
    std::vector<std::vector<int128>> steps(4);
    std::vector<int128> rest;
    for (std::int32_t m = 0; m < 4; ++m) {
      for (libra::sequence_id const s : placed.step(libra::micro_step_id(m))) {
        steps[static_cast<std::size_t>(m)].push_back(p.work[s.index()]);
      }
      std::ranges::sort(steps[static_cast<std::size_t>(m)], std::greater{});
    }
    for (std::vector<int128> const& step : steps) {
      if (step.front() < 100'000) {
        found += step.front();
        rest.insert(rest.end(), step.begin(), step.end());
      }
    }
    std::ranges::sort(rest, std::greater{});
    for (std::size_t first = 0; first < rest.size(); first += 16) {
      sorted += rest[first];
    }
  }
  CHECK(found * 100 <= sorted * 110);
}

TEST_CASE("where pools wait for each other at the end only, their sums over the batch are even") {
  libra::random_bits bits(18);
  variance_reduced const at_the_end{.goal = {.sync = libra::synchronisation::batch}};
  int128 found = 0;
  int128 bound = 0;
  for (int i = 0; i < 20; ++i) {
    placing const p = long_tailed(bits);
    INFO("case ", i, ": ", p.describe());
    placement const placed = at_the_end(p.work, p.layout, p.pools);
    REQUIRE(libra::test::is_permutation_of_batches(p, placed.at));
    std::vector<int128> sorted = p.work;
    std::ranges::sort(sorted);
    // The mean, or the heaviest with the lightest company: 15 more in a pool of four slots over four steps.
    int128 const scale = libra::test::common_scale(p);
    int128 const total = std::accumulate(sorted.begin(), sorted.end(), int128{0});
    int128 const outlier = std::accumulate(sorted.begin(), sorted.begin() + 15, sorted.back());
    int128 const least = std::max(total * scale / p.layout.dp, outlier * scale / 4);
    found += largest_pool_sum(p, placed);
    bound += least;
    CHECK(largest_pool_sum(p, placed) <= largest_pool_sum(p, variance_reduced{}(p.work, p.layout, p.pools)));
  }
  CHECK(found * 100 <= bound * 105);
}

/// What the micro-steps take through a pipeline when every step waits for its heaviest pool.
std::int64_t pipelined(placing const& p, placement const& placed, std::int32_t stages) {
  std::vector<libra::work> row;
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    for (std::int32_t m = 0; m < placed.steps(); ++m) {
      auto const step = placed.step(libra::micro_step_id(m));
      auto const level = static_cast<std::int64_t>(
          libra::test::makespan(p, std::vector<libra::sequence_id>(step.begin(), step.end()), 4));
      row.push_back({level / 7 * 2, level - level / 7 * 2});
    }
  }
  return libra::one_forward_one_backward(row, stages);
}

TEST_CASE("through a pipeline, placing for it is faster than placing for one stage") {
  libra::random_bits bits(19);
  std::int64_t aligned = 0;
  std::int64_t placed_for_it = 0;
  for (int i = 0; i < 20; ++i) {
    placing const p = long_tailed(bits);
    INFO("case ", i, ": ", p.describe());
    placement const placed = variance_reduced{.goal = {.stages = 4}}(p.work, p.layout, p.pools);
    REQUIRE(libra::test::is_permutation_of_batches(p, placed.at));
    placed_for_it += pipelined(p, placed, 4);
    aligned += pipelined(p, variance_reduced{}(p.work, p.layout, p.pools), 4);
  }
  CAPTURE(aligned);
  CHECK(placed_for_it * 100 < aligned * 97);
}

TEST_CASE("both at once: a pipeline, and pools that wait at the end only") {
  libra::random_bits bits(20);
  for (int i = 0; i < 100; ++i) {
    placing const p = libra::test::random_placing(bits, 9, 4);
    INFO("case ", i, ": ", p.describe());
    variance_reduced const both{.goal = {.sync = libra::synchronisation::batch, .stages = 3}, .step_work = 7};
    REQUIRE(libra::test::is_permutation_of_batches(p, both(p.work, p.layout, p.pools).at));
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(variance_reduced{.goal = {.stages = 0}}({}, {}, {})),
                       "stages is 0, expected at least 1", libra::input_error);
}

TEST_CASE("weights beyond 64 bits") {
  placing p;
  p.layout = {.window_tokens = 10, .dp = 4, .cp = 1, .pool = 2, .micro_steps = 2};
  p.pools = libra::pool_partition{{0, 2, 4}};
  int128 const unit = static_cast<int128>(1) << 80;
  for (int const w : {100, 1, 1, 1, 100, 1, 1, 1}) {
    p.work.push_back(w * unit);
  }
  CHECK(achieved(p, variance_reduced{}(p.work, p.layout, p.pools)) == (101 + 2) * 2 * unit);
}

}  // namespace
