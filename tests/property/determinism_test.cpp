#include "support/mutations.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Invariant 6: plans are bit-identical, and a mismatch names the first field that differs. Other compilers and flags:
// plan/golden_test.cpp.

namespace {

using libra::batch_plan;
using libra::first_difference;
using libra::pass;
using libra::pool_plan;
using libra::test::planning_case;

TEST_CASE("the same inputs give the same plan, from another scheduler and after other plans") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    planning_case const c = libra::test::random_case(seed, {.tokens = 700});
    INFO(c.describe());
    batch_plan const once = c.plan();
    static_cast<void>(libra::test::random_case(seed + 1, {.tokens = 700}).plan());
    batch_plan const again = libra::test::random_case(seed, {.tokens = 700}).plan();
    REQUIRE(first_difference(once.fingerprint, again.fingerprint) == std::nullopt);
    REQUIRE(once.fingerprint.combined() == again.fingerprint.combined());
    REQUIRE(once.packing == again.packing);
    REQUIRE(once.placement == again.placement);
    REQUIRE(once.certificate == again.certificate);
    libra::micro_step_id const m(once.placement.steps() - 1);
    libra::pool_id const g(once.pools.size() - 1);
    pool_plan const pool = c.make_scheduler().plan_pool(once, m, g);
    pool_plan const same = c.make_scheduler().plan_pool(again, m, g);
    REQUIRE(first_difference(pool.fingerprint, same.fingerprint) == std::nullopt);
    REQUIRE(pool.fingerprint.combined() == same.fingerprint.combined());
    REQUIRE(pool.dispatch == same.dispatch);
    REQUIRE(pool.forward == same.forward);
    REQUIRE(pool.backward == same.backward);
  }
}

TEST_CASE("another list differs in its inputs, another layout or option in its configuration") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    planning_case const c = libra::test::random_case(seed, {.tokens = 700});
    INFO(c.describe());
    batch_plan const plan = c.plan();
    auto const differs_in = [&](planning_case const& other, std::string_view field) {
      batch_plan const changed = other.plan();
      REQUIRE(first_difference(plan.fingerprint, changed.fingerprint) == field);
      REQUIRE(plan.fingerprint.combined() != changed.fingerprint.combined());
    };
    libra::random_bits bits(seed);
    planning_case other = c;
    other.lengths.push_back(1);
    differs_in(other, "inputs");
    other = c;
    switch (bits.below(10)) {
      case 0:
        other.options.shape.head_dim = 256;
        break;
      case 1:
        other.options.shape.q_heads *= 2;
        break;
      case 2:
        other.options.waves += 1;
        break;
      case 3:
        other.options.arrange = !other.options.arrange;
        break;
      case 4:
        other.options.links.network_latency_ps += 1;
        break;
      case 5:
        other.options.width.activation = 4;
        break;
      case 6:
        other.layout.cp += 1;
        other.options.speeds_permille.clear();
        break;
      case 7:
        other.options.speeds_permille.resize(static_cast<std::size_t>(c.layout.ranks()), 1000);
        other.options.speeds_permille.back() += 1;
        break;
      case 8:
        other.options.max_workspace_bytes = 1 << 20;
        break;
      default:
        other.options.shape.mask = libra::attention_mask::window(12345);
        break;
    }
    differs_in(other, "configuration");
  }
}

TEST_CASE("every field of a program is in its digest") {
  int changed = 0;
  for (std::uint64_t seed = 0; changed < 3000; ++seed) {
    planning_case const c = libra::test::random_case(seed, {.dp = 3, .micro_steps = 1, .tokens = 300});
    pool_plan const pool = c.make_scheduler().plan_pool(c.plan(), libra::micro_step_id(0), libra::pool_id(0));
    libra::random_bits bits(seed);
    for (int i = 0; i < 10; ++i) {
      libra::pool_program const& good = pool.of(bits.below(2) == 0 ? pass::forward : pass::backward);
      libra::pool_program other = good;
      std::string const change = libra::test::mutator(other, bits).mutate();
      INFO("seed ", seed, ": ", change);
      REQUIRE((digest_of(other) == digest_of(good)) == (other == good));
      changed += other == good ? 0 : 1;
    }
  }
}

}  // namespace
