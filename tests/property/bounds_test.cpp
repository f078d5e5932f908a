#include "support/placing.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/plan/certify.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

// Invariant 7: lower bound <= makespan, for placements and for dispatches.

namespace {

using libra::int128;
using libra::placement_certificate;
using libra::pool_certificate;
using libra::test::placing;
using libra::test::planning_case;

template <class Placer>
void check_bound(placing const& p, Placer const& place) {
  INFO(libra::policy_name(place));
  libra::placement const placed = place(p.work, p.layout, p.pools);
  placement_certificate const proof = certify(p.work, p.layout, p.pools, placed);
  REQUIRE(proof.mean <= proof.lower_bound);
  REQUIRE(proof.lower_bound <= proof.makespan);
  REQUIRE(proof.makespan == libra::test::makespan(p, placed.at, proof.scale));
}

TEST_CASE("no placer beats the bound, on any weights and pools") {
  libra::random_bits bits(31);
  for (int i = 0; i < 1500; ++i) {
    placing const p = libra::test::random_placing(bits, 12, 4);
    INFO("case ", i, ": ", p.describe());
    check_bound(p, libra::as_packed{});
    check_bound(p, libra::longest_first{});
    check_bound(p, libra::snake{});
    check_bound(p, libra::karmarkar_karp{});
    check_bound(p, libra::variance_reduced{});
  }
}

TEST_CASE("whole plans: the bound of the placement and of every dispatch holds") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    planning_case const c = libra::test::random_case(seed, {.tokens = 1500});
    INFO(c.describe());
    libra::batch_plan const plan = c.plan();
    REQUIRE(plan.certificate.mean <= plan.certificate.lower_bound);
    REQUIRE(plan.certificate.lower_bound <= plan.certificate.makespan);
    REQUIRE(plan.certificate.lower_bound_over_mean() >= 1.0);
    for (std::int32_t m = 0; m < plan.placement.steps(); ++m) {
      for (std::int32_t g = 0; g < plan.pools.size(); ++g) {
        libra::pool_batch const batch = batch_of(plan, libra::micro_step_id(m), libra::pool_id(g));
        pool_certificate const proof = certify(batch, c.dispatch(batch, c.cost, c.options.links), c.cost);
        REQUIRE(proof.lower_bound.forward <= proof.makespan.forward);
        REQUIRE(proof.lower_bound.backward <= proof.makespan.backward);
        REQUIRE(proof.makespan.forward <=
                libra::at_speed(proof.total.forward, libra::slowest_speed(batch.speeds_permille)));
        REQUIRE(proof.gap() >= 0.0);
      }
    }
  }
}

TEST_CASE("adding a rank to every group, or a slot to a pool's, never raises the bound of a pool's work per rank") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    planning_case c = libra::test::random_case(seed, {.tokens = 1500});
    INFO(c.describe());
    libra::pool_batch batch = batch_of(c.plan(), libra::micro_step_id(0), libra::pool_id(0));
    pool_certificate const before = certify(batch, libra::pool_dispatch{}, c.cost);
    auto const certify_it = [&] {
      if (!batch.speeds_permille.empty()) {  // new ranks may be slow
        batch.speeds_permille.resize(static_cast<std::size_t>(batch.ranks()), 10);
      }
      return certify(batch, libra::pool_dispatch{}, c.cost);
    };
    ++batch.home.cp;
    pool_certificate const more_ranks = certify_it();
    --batch.home.cp;
    ++batch.slots;
    pool_certificate const more_slots = certify_it();
    for (pool_certificate const& after : {more_ranks, more_slots}) {
      REQUIRE(after.lower_bound.forward <= before.lower_bound.forward);
      REQUIRE(after.lower_bound.backward <= before.lower_bound.backward);
    }
  }
}

TEST_CASE("a larger pool never raises the bound of the placement") {
  libra::random_bits bits(32);
  for (int i = 0; i < 500; ++i) {
    placing p = libra::test::random_placing(bits, 12, 4);
    // Pools of one size, so that twice the size is a union of them.
    p.layout.dp = 12;
    p.work.resize(static_cast<std::size_t>(p.layout.sequences_per_batch()), 3);
    int128 last = libra::int128_max;
    for (std::int32_t const pool : {1, 2, 4, 12}) {
      p.layout.pool = pool;
      p.pools = libra::fixed_size{}(p.layout, {});
      placement_certificate const proof =
          certify(p.work, p.layout, p.pools, libra::as_packed{}(p.work, p.layout, p.pools));
      int128 const bound = proof.lower_bound * (12 * 12 / proof.scale);
      INFO("case ", i, ", pool ", pool, ": ", p.describe());
      REQUIRE(bound <= last);
      last = bound;
    }
  }
}

}  // namespace
