#include "support/printing.hpp"
#include "support/random_cases.hpp"
#include "support/tag_machine.hpp"

#include <libra/plan/metrics.hpp>
#include <libra/plan/workspace_error.hpp>
#include <libra/program/verifier.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

// A limit of the workspace is kept, or refused with the least that then works; what is planned within it is valid.

namespace {

using libra::batch_plan;
using libra::pool_plan;
using libra::test::planning_case;

struct one_pool {
  batch_plan batch;
  libra::micro_step_id m;
  libra::pool_id g;

  explicit one_pool(planning_case const& c) : batch(c.plan()) {
    libra::random_bits bits(c.seed + 5);
    m = libra::micro_step_id(static_cast<std::int32_t>(bits.between(0, batch.placement.steps() - 1)));
    g = libra::pool_id(static_cast<std::int32_t>(bits.between(0, batch.pools.size() - 1)));
  }

  /// The pool's plan within the limit; the least that works otherwise.
  [[nodiscard]] std::optional<pool_plan> within(planning_case const& c, std::int64_t limit, std::int64_t& least) {
    batch.options.max_workspace_bytes = limit;
    try {
      return c.make_scheduler().plan_pool(batch, m, g);
    } catch (libra::workspace_error const& e) {
      least = e.least_bytes();
      return std::nullopt;
    }
  }
};

std::int64_t workspace_of(pool_plan const& plan) { return traffic_of(plan).workspace_bytes; }

TEST_CASE("the workspace is within the limit, or the limit is refused with the least that works") {
  int refused = 0;
  int saved = 0;
  for (std::uint64_t seed = 7000; seed < 7400; ++seed) {
    planning_case c = libra::test::random_case(seed, {.dp = 6, .cp = 4, .micro_steps = 2, .window_tokens = 2000});
    c.options.keep_inputs = seed % 4 == 0;
    INFO(c.describe());
    one_pool pool(c);
    std::int64_t least = 0;
    std::optional<pool_plan> const usual = pool.within(c, 0, least);
    REQUIRE(usual);
    std::int64_t const needed = workspace_of(*usual);
    if (needed == 0) {
      continue;
    }
    libra::random_bits bits(seed);
    std::int64_t const limit = bits.below(4) == 0 ? 1 : bits.between(std::max<std::int64_t>(1, needed / 4), needed);
    std::optional<pool_plan> plan = pool.within(c, limit, least);
    if (!plan) {
      ++refused;
      REQUIRE(least > limit);
      REQUIRE(least <= needed);
      std::int64_t again = 0;
      REQUIRE(!pool.within(c, least - 1, again));
      REQUIRE(again == least);
      plan = pool.within(c, least, again);
      REQUIRE(plan);
      REQUIRE(workspace_of(*plan) == least);
    } else {
      REQUIRE(workspace_of(*plan) <= limit);
    }
    saved += workspace_of(*plan) < needed ? 1 : 0;
    REQUIRE(libra::verify(plan->batch, plan->forward, plan->backward).what == "");
    libra::test::tag_machine forward(plan->batch, plan->forward, seed);
    REQUIRE(forward.run() == "");
    libra::test::tag_machine backward(plan->batch, plan->backward, seed + 1);
    backward.begin_with(forward.left());
    REQUIRE(backward.run() == "");
  }
  CHECK(refused > 50);
  CHECK(saved > 50);
}

TEST_CASE("a limit that is kept anyway changes nothing but the configuration") {
  for (std::uint64_t seed = 7000; seed < 7200; ++seed) {
    planning_case c = libra::test::random_case(seed, {.tokens = 700});
    INFO(c.describe());
    one_pool pool(c);
    std::int64_t least = 0;
    std::optional<pool_plan> const usual = pool.within(c, 0, least);
    REQUIRE(usual);
    std::optional<pool_plan> const same = pool.within(c, std::max<std::int64_t>(1, workspace_of(*usual)), least);
    REQUIRE(same);
    REQUIRE(same->fingerprint == usual->fingerprint);
  }
}

}  // namespace
