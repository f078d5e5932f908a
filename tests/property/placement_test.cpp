#include "support/placing.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
    check_permutes(p, libra::variance_reduced{});
    check_permutes(p, libra::variance_reduced{.refine_pairs = 0});
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
