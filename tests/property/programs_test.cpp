#include "support/printing.hpp"
#include "support/random_cases.hpp"
#include "support/tag_machine.hpp"

#include <libra/model/scatter.hpp>
#include <libra/plan/batch_of.hpp>
#include <libra/program/lowering.hpp>
#include <libra/program/verifier.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

// Invariant 5: in programs nothing is read before it is written, sends match receives, nothing deadlocks, and the
// memory is known before the first launch. The verifier says so, and a machine that shares no code with it runs them.

namespace {

using libra::pass;
using libra::pool_plan;
using libra::test::planning_case;

pool_plan any_pool(planning_case const& c) {
  libra::batch_plan const plan = c.plan();
  libra::random_bits bits(c.seed + 5);
  auto const m = static_cast<std::int32_t>(bits.between(0, plan.placement.steps() - 1));
  auto const g = static_cast<std::int32_t>(bits.between(0, plan.pools.size() - 1));
  return c.make_scheduler().plan_pool(plan, libra::micro_step_id(m), libra::pool_id(g));
}

/// Whether gradients cross as what their home gets in the end.
bool rounds_abroad(libra::pool_program const& programs) {
  return std::ranges::any_of(programs.ranks, [](libra::program const& p) {
    return std::ranges::any_of(p.sends, [](libra::transfer const& t) { return t.what.what == libra::tensor::dk; });
  });
}

TEST_CASE("programs are valid and run right, however the queues are interleaved") {
  int rounding = 0;
  for (std::uint64_t seed = 2000; seed < 3000; ++seed) {
    planning_case const c = libra::test::random_case(seed, {.tokens = 400});
    INFO(c.describe());
    pool_plan const pool = any_pool(c);
    for (pass const p : {pass::forward, pass::backward}) {
      INFO("pass ", static_cast<int>(p));
      REQUIRE(libra::verify(pool.batch, pool.of(p)).what == "");
      for (std::uint64_t run = 0; run < 2; ++run) {
        REQUIRE(libra::test::tag_machine(pool.batch, pool.of(p), seed * 10 + run).run() == "");
      }
    }
    rounding += rounds_abroad(pool.backward) ? 1 : 0;
  }
  CHECK(rounding > 50);
}

TEST_CASE("shards of a sequence may lie on any nodes") {
  int scattered = 0;
  for (std::uint64_t seed = 6000; seed < 7000; ++seed) {
    planning_case const c = libra::test::random_case(seed, {.tokens = 400});
    INFO(c.describe());
    libra::topology const& links = c.options.links;
    libra::pool_batch batch = libra::batch_of(c.plan(), libra::micro_step_id(0), libra::pool_id(0));
    batch.stride = libra::scattering_stride(batch, links);
    if (batch.stride == 0) {
      continue;
    }
    ++scattered;
    libra::pool_dispatch const tiles = libra::pooled{}(batch, libra::pair_count{}, links);
    for (pass const p : {pass::forward, pass::backward}) {
      INFO("pass ", static_cast<int>(p));
      libra::pool_program const programs = libra::lower(batch, tiles.of(p), p,
                                                        {.width = c.options.width,
                                                         .waves = std::max(1, c.options.waves),
                                                         .ranks_per_node = links.ranks_per_node,
                                                         .spread_bytes = c.options.spread_bytes});
      REQUIRE(libra::verify(batch, programs).what == "");
      for (std::uint64_t run = 0; run < 2; ++run) {
        REQUIRE(libra::test::tag_machine(batch, programs, seed * 10 + run).run() == "");
      }
    }
  }
  CHECK(scattered > 100);
}

TEST_CASE("with kept inputs, backward runs right on what forward left, and brings nothing twice") {
  int keeping = 0;
  for (std::uint64_t seed = 4000; seed < 5000; ++seed) {
    planning_case c = libra::test::random_case(seed, {.tokens = 400});
    c.options.keep_inputs = true;
    INFO(c.describe());
    pool_plan const pool = any_pool(c);
    REQUIRE(pool.dispatch.forward == pool.dispatch.backward);
    REQUIRE(libra::verify(pool.batch, pool.forward, pool.backward).what == "");
    libra::test::tag_machine forward(pool.batch, pool.forward, seed * 10);
    REQUIRE(forward.run() == "");
    libra::test::tag_machine backward(pool.batch, pool.backward, seed * 10 + 1);
    backward.begin_with(forward.left());
    REQUIRE(backward.run() == "");
    keeping += keeps_inputs(pool.backward) ? 1 : 0;
    bool const ring = pool.dispatch.flow == libra::key_flow::ring;
    for (libra::program const& code : pool.backward.ranks) {
      for (libra::transfer const& t : code.receives) {
        // The members of a ring pass keys on in both passes.
        REQUIRE(t.what.what != libra::tensor::q);
        REQUIRE((ring || (t.what.what != libra::tensor::k && t.what.what != libra::tensor::v)));
        // Delta is made where the outputs were kept.
        REQUIRE((!ring || t.what.what != libra::tensor::delta));
      }
    }
  }
  CHECK(keeping > 500);
}

TEST_CASE("a rank may also run its list op by op: each waits for earlier ones only") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    planning_case const c = libra::test::random_case(seed, {.tokens = 400});
    INFO(c.describe());
    pool_plan const pool = any_pool(c);
    for (pass const p : {pass::forward, pass::backward}) {
      for (libra::program const& code : pool.of(p).ranks) {
        std::array<std::int32_t, libra::queue_count> before{};
        bool ordered = true;
        for (libra::op const& o : code.ops) {
          for (std::size_t q = 0; q < before.size(); ++q) {
            ordered = ordered && o.after[q] <= before[q];
          }
          ++before[static_cast<std::size_t>(o.on)];
        }
        REQUIRE(ordered);
      }
    }
  }
}

TEST_CASE("the ranks of a pool have the same rounds on both channels") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    planning_case const c = libra::test::random_case(seed, {.tokens = 400});
    INFO(c.describe());
    pool_plan const pool = any_pool(c);
    std::int32_t const waves = c.options.waves > 0 ? c.options.waves : 32;  // as many as a planner may choose
    for (pass const p : {pass::forward, pass::backward}) {
      auto const rounds = [](libra::program const& code, libra::queue q) {
        return std::ranges::count(code.ops, q, &libra::op::on);
      };
      for (libra::program const& code : pool.of(p).ranks) {
        for (libra::queue const q : {libra::queue::fetch, libra::queue::deliver}) {
          REQUIRE(rounds(code, q) == rounds(pool.of(p).ranks[0], q));
          REQUIRE((pool.dispatch.flow == libra::key_flow::ring || rounds(code, q) <= 2 * waves + 1));
        }
      }
    }
  }
}

}  // namespace
