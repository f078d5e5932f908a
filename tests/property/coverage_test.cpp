#include "support/coverage.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"
#include "support/tag_machine.hpp"

#include <libra/program/verifier.hpp>

#include <doctest/doctest.h>

#include <cstdint>

// Invariant 3: every (query row, head) is computed exactly once against exactly the keys its mask shows.

namespace {

using libra::pass;
using libra::test::planning_case;

TEST_CASE("every dispatch covers every row and head of its pool once, in both passes") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    planning_case const c = libra::test::random_case(seed, {.tokens = 1500});
    INFO(c.describe());
    libra::batch_plan const plan = c.plan();
    for (std::int32_t m = 0; m < plan.placement.steps(); ++m) {
      for (std::int32_t g = 0; g < plan.pools.size(); ++g) {
        libra::pool_batch const batch = batch_of(plan, libra::micro_step_id(m), libra::pool_id(g));
        libra::pool_dispatch const dispatch = c.dispatch(batch, c.cost, c.options.links);
        REQUIRE(libra::test::coverage_error(batch, dispatch.forward) == "");
        REQUIRE(libra::test::coverage_error(batch, dispatch.backward) == "");
      }
    }
  }
}

TEST_CASE("the programs do what the dispatch says: once, against the keys that the mask shows") {
  // The machine refuses a row that is computed twice and a key that is seen but not given; the sums of dk and dv are
  // right only if every row and head that sees a key added to it once, and no other did.
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    planning_case const c = libra::test::random_case(seed, {.tokens = 450});
    INFO(c.describe());
    libra::batch_plan const plan = c.plan();
    libra::random_bits bits(seed);
    auto const m = static_cast<std::int32_t>(bits.between(0, plan.placement.steps() - 1));
    auto const g = static_cast<std::int32_t>(bits.between(0, plan.pools.size() - 1));
    libra::pool_plan const pool = c.make_scheduler().plan_pool(plan, libra::micro_step_id(m), libra::pool_id(g));
    for (pass const p : {pass::forward, pass::backward}) {
      INFO("micro-step ", m, ", pool ", g, ", pass ", static_cast<int>(p));
      REQUIRE(libra::verify(pool.batch, pool.of(p)).what == "");
      REQUIRE(libra::test::tag_machine(pool.batch, pool.of(p), seed).run() == "");
    }
  }
}

}  // namespace
