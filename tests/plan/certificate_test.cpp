#include <libra/plan/certificate.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using libra::placement_certificate;
using libra::pool_certificate;

static_assert(std::is_trivially_copyable_v<placement_certificate> && std::is_trivially_copyable_v<pool_certificate>);

TEST_CASE("a placement's figures are ratios to the mean") {
  placement_certificate const proof{.scale = 8, .mean = 16, .packed = 40, .makespan = 20, .lower_bound = 18};
  CHECK(proof.ulysses_over_mean() == 2.5);
  CHECK(proof.placed_over_mean() == 1.25);
  CHECK(proof.lower_bound_over_mean() == 1.125);
  CHECK(proof == placement_certificate{8, 16, 40, 20, 18});
  CHECK(proof != placement_certificate{8, 16, 40, 20, 17});
}

TEST_CASE("a dispatch's gap is what the makespan is above the bound, both passes together") {
  pool_certificate const proof{.makespan = {110, 300}, .lower_bound = {100, 200}, .total = {400, 800}};
  CHECK(proof.gap() == doctest::Approx(110.0 / 300));
  CHECK(pool_certificate{}.gap() == 0.0);
  CHECK(pool_certificate{.makespan = {7, 8}, .lower_bound = {7, 8}, .total = {}}.gap() == 0.0);
}

}  // namespace
