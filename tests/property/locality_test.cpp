#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

// Invariant 4: no transfer leaves its pool. Peers are numbered inside the pool, so what is left to show is that they
// lie in it, that pools share no rank, and that a pool holds its own sequences only.

namespace {

using libra::pass;
using libra::pool_plan;
using libra::transfer;
using libra::test::planning_case;

void check_transfers(pool_plan const& pool, std::int32_t group) {
  for (pass const p : {pass::forward, pass::backward}) {
    for (std::size_t r = 0; r < pool.of(p).ranks.size(); ++r) {
      libra::program const& code = pool.of(p).ranks[r];
      bool inside = true;
      for (auto const* transfers : {&code.sends, &code.receives}) {
        for (transfer const& t : *transfers) {
          inside = inside && t.peer.value >= 0 && t.peer.value < pool.batch.ranks() &&
                   t.peer.value / group == static_cast<std::int32_t>(r) / group &&
                   t.what.segment.index() < pool.batch.segments.size();
        }
      }
      REQUIRE(inside);
    }
  }
}

TEST_CASE("every transfer stays in its pool, and in its group where the dispatcher promises that") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    planning_case const c = libra::test::random_case(seed, {.tokens = 1200});
    INFO(c.describe());
    libra::batch_plan const plan = c.plan();
    bool const inside_groups = !std::holds_alternative<libra::pooled>(c.dispatch.policy);
    for (std::int32_t m = 0; m < plan.placement.steps(); ++m) {
      std::set<std::int64_t> job_ranks;
      for (std::int32_t g = 0; g < plan.pools.size(); ++g) {
        pool_plan const pool = c.make_scheduler().plan_pool(plan, libra::micro_step_id(m), libra::pool_id(g));
        for (std::int64_t r = 0; r < pool.batch.ranks(); ++r) {
          REQUIRE(job_ranks.insert(pool.batch.first_rank + r).second);
        }
        std::set<std::int32_t> sequences;
        for (libra::sequence_id const s : plan.placement.pool(libra::micro_step_id(m), libra::pool_id(g), plan.pools)) {
          sequences.insert(s.value);
        }
        for (libra::placed_segment const& s : pool.batch.segments) {
          REQUIRE(sequences.contains(s.sequence.value));
        }
        REQUIRE(pool.dispatch.ranks_per_exchange <= pool.batch.ranks());
        check_transfers(pool, inside_groups ? c.layout.cp : pool.batch.ranks());
      }
      REQUIRE(static_cast<std::int64_t>(job_ranks.size()) == c.layout.ranks());
      REQUIRE(*job_ranks.begin() == 0);
      REQUIRE(*job_ranks.rbegin() == c.layout.ranks() - 1);
    }
  }
}

}  // namespace
