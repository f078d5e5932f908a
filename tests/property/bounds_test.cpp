#include "support/placing.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/plan/certify.hpp>

#include <doctest/doctest.h>

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
        REQUIRE(proof.makespan.forward <= proof.total.forward);
        REQUIRE(proof.gap() >= 0.0);
      }
    }
  }
}

}  // namespace
