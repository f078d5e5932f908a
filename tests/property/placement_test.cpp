#include "support/placing.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

// Invariant 2: placement is a permutation of the global batch: the same samples in the same optimizer step.

namespace {

using libra::placement;
using libra::test::placing;
using libra::test::planning_case;

template <class Placer>
void check_permutes(placing const& p, Placer const& place) {
  INFO(libra::policy_name(place));
  placement const placed = place(p.work, p.layout, p.pools);
  REQUIRE(placed.dp == p.layout.dp);
  REQUIRE(placed.micro_steps == p.layout.micro_steps);
  REQUIRE(libra::test::is_permutation_of_batches(p, placed.at));
}

TEST_CASE("every placer permutes each global batch and leaves an unfilled one out") {
  libra::random_bits bits(21);
  for (int i = 0; i < 1500; ++i) {
    placing const p = libra::test::random_placing(bits, 12, 4);
    INFO("case ", i, ": ", p.describe());
    check_permutes(p, libra::as_packed{});
    check_permutes(p, libra::longest_first{});
    check_permutes(p, libra::snake{});
    check_permutes(p, libra::karmarkar_karp{});
    check_permutes(p, libra::variance_reduced{});
    check_permutes(p, libra::variance_reduced{.refine_moves = 0});
    check_permutes(p, libra::variance_reduced{.goal = {.stages = 3}});
    check_permutes(p, libra::variance_reduced{.goal = {.sync = libra::synchronisation::batch}});
  }
}

TEST_CASE("the order of the list changes no placer's makespan, where weights do not tie") {
  libra::random_bits bits(22);
  for (int i = 0; i < 300; ++i) {
    placing p = libra::test::random_placing(bits, 8, 3);
    auto const per_batch = static_cast<std::size_t>(p.layout.sequences_per_batch());
    p.work.resize(per_batch);
    for (std::size_t s = 0; s < per_batch; ++s) {
      p.work[s] = p.work[s] * 64 + static_cast<std::int64_t>(s);
    }
    INFO("case ", i, ": ", p.describe());
    libra::int128 const scale = libra::test::common_scale(p);
    auto const makespans = [&] {
      auto const of = [&](auto const& place) {
        return libra::test::makespan(p, place(p.work, p.layout, p.pools).at, scale);
      };
      return std::vector{of(libra::snake{}), of(libra::longest_first{}), of(libra::karmarkar_karp{}),
                         of(libra::variance_reduced{})};
    };
    auto const before = makespans();
    libra::shuffle(std::span(p.work), bits);
    REQUIRE(makespans() == before);
  }
}

TEST_CASE("lists that are hard on purpose: the flagship is never behind another placer, and nobody beats the bound") {
  std::vector<std::vector<std::int64_t>> const lists{
      {900, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},               // one giant with a crowd of ones
      {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7},                 // all equal
      {900, 800, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},             // two giants
      {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048},  // a geometric ladder
      {900, 850, 800, 750, 3, 3, 3, 3, 2, 2, 2, 2},         // more giants than pools in a step
      {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
  };
  for (std::vector<std::int64_t> const& list : lists) {
    for (auto const& [dp, pool, steps] :
         {std::tuple{12, 4, 1}, {12, 5, 1}, {4, 2, 3}, {6, 3, 2}, {3, 2, 4}, {12, 1, 1}}) {
      placing p;
      p.layout = {.window_tokens = 10, .dp = dp, .cp = 1, .pool = pool, .micro_steps = steps};
      p.pools = libra::fixed_size{}(p.layout, {});
      p.work.assign(list.begin(), list.end());
      INFO(p.describe());
      libra::int128 const scale = libra::test::common_scale(p);
      auto const of = [&](auto const& place) {
        return libra::test::makespan(p, place(p.work, p.layout, p.pools).at, scale);
      };
      libra::int128 const flagship = of(libra::variance_reduced{});
      CHECK(flagship <= of(libra::as_packed{}));
      CHECK(flagship <= of(libra::snake{}));
      CHECK(flagship <= of(libra::longest_first{}));
      CHECK(flagship <= of(libra::karmarkar_karp{}));
    }
  }
}

TEST_CASE("a whole plan trains every packed sequence of its global batches once, in the batch it was packed for") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    planning_case const c = libra::test::random_case(seed);
    INFO(c.describe());
    libra::batch_plan const plan = c.plan();
    std::int64_t const per_batch = c.layout.sequences_per_batch();
    std::int64_t const batches = static_cast<std::int64_t>(plan.packing.sequences.size()) / per_batch;
    REQUIRE(plan.placement.global_batches() == batches);
    REQUIRE(plan.dropped_sequences() == static_cast<std::int64_t>(plan.packing.sequences.size()) - batches * per_batch);
    std::vector<int> trained(plan.packing.sequences.size());
    for (std::int32_t m = 0; m < plan.placement.steps(); ++m) {
      for (std::int32_t g = 0; g < plan.pools.size(); ++g) {
        auto const pool = plan.placement.pool(libra::micro_step_id(m), libra::pool_id(g), plan.pools);
        REQUIRE(static_cast<std::int32_t>(pool.size()) <= c.layout.pool);
        for (libra::sequence_id const s : pool) {
          REQUIRE(s.value / per_batch == m / c.layout.micro_steps);
          ++trained[s.index()];
        }
      }
    }
    for (std::size_t s = 0; s < trained.size(); ++s) {
      REQUIRE(trained[s] == (static_cast<std::int64_t>(s) < batches * per_batch ? 1 : 0));
    }
  }
}

}  // namespace
