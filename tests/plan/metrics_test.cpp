#include "support/hand_pool.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/cost/pair_count.hpp>
#include <libra/plan/metrics.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::int128;
using libra::pass;
using libra::pool_locality;
using libra::pool_plan;
using libra::pool_traffic;

pool_plan hand_plan() {
  pool_plan plan;
  plan.batch = libra::test::hand_pool();
  plan.dispatch.forward = libra::test::hand_tiles();
  plan.dispatch.backward = libra::test::hand_tiles();
  plan.forward = libra::test::hand_program(pass::forward);
  return plan;
}

TEST_CASE("by hand: bytes of the forward pass, without copies inside a rank") {
  pool_traffic const traffic = traffic_of(hand_plan());
  // A row of q, k, v, o is 16 channels of 2 bytes: 32; of lse 4.
  // Rank 0 sends k and v of 128 tokens and 2 heads to ranks 1 and 3, and o and lse of 60 rows x 2 heads home.
  std::int64_t const sent_0 = 2 * (2 * 128 * 2 * 32) + 60 * 2 * (32 + 4);
  // Rank 1 sends rank 3 q of 64 rows x 4 heads, k and v of 128 tokens x 2 heads; its own keys are a copy.
  std::int64_t const sent_1 = 64 * 4 * 32 + 2 * 128 * 2 * 32;
  // Rank 2 sends rank 0 q of 28 rows x 2 heads, k and v of 28 tokens and one head; and rank 3 o and lse of 32 rows x 2.
  std::int64_t const sent_2 = 28 * 2 * 32 + 2 * 28 * 32 + 32 * 2 * (32 + 4);
  // Rank 3 sends q, k, v of 32 tokens to each of ranks 0 and 2, and o and lse of 64 rows x 4 heads home.
  std::int64_t const sent_3 = 2 * (32 * 2 * 32 + 2 * 32 * 32) + 64 * 4 * (32 + 4);
  CHECK(traffic.total_bytes_sent == sent_0 + sent_1 + sent_2 + sent_3);
  CHECK(traffic.max_bytes_sent == sent_0);
  // Rank 3 receives q of 64 x 4, k and v of 256 x 2, and o and lse of 32 rows x 4 heads.
  CHECK(traffic.max_bytes_received == 64 * 4 * 32 + 2 * 256 * 2 * 32 + 32 * 4 * (32 + 4));
  CHECK(traffic.workspace_bytes == libra::test::hand_program(pass::forward).ranks[3].workspace_bytes);
  CHECK(traffic.kept_bytes == 0);
}

TEST_CASE("by hand: bytes that stay between the passes") {
  pool_plan plan = hand_plan();
  plan.forward = libra::lower(plan.batch, plan.dispatch.forward, pass::forward, {.width = {}, .keep_inputs = true});
  // Rank 3: q of 64 rows x 4 heads, k and v of 256 x 2.
  CHECK(traffic_of(plan).kept_bytes == 64 * 4 * 32 + 2 * 256 * 2 * 32);
  CHECK(traffic_of(plan).workspace_bytes == plan.forward.ranks[3].workspace_bytes);
}

TEST_CASE("by hand: what needs no exchange") {
  pool_locality const local = locality_of(hand_plan(), libra::pair_count{});
  CHECK(local.rows == 4 * (256 + 100 + 60));
  CHECK(local.local_rows == 4 * 128 + 4 * 100);
  CHECK(local.work == 2 * 4 * (32896 + 5050 + 1830));
  CHECK(local.local_work == 2 * 4 * (8256 + 5050));
}

TEST_CASE("what one rank sends, another receives, over random pools") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    libra::test::planning_case const c = libra::test::random_case(seed, {.tokens = 700});
    INFO(c.describe());
    pool_plan const pool = c.make_scheduler().plan_pool(c.plan(), libra::micro_step_id(0), libra::pool_id(0));
    pool_traffic const traffic = traffic_of(pool);
    pool_plan turned = pool;
    for (auto* programs : {&turned.forward, &turned.backward}) {
      for (libra::program& p : programs->ranks) {
        std::swap(p.sends, p.receives);
      }
    }
    pool_traffic const other = traffic_of(turned);
    REQUIRE(other.total_bytes_sent == traffic.total_bytes_sent);
    REQUIRE(other.max_bytes_sent == traffic.max_bytes_received);
    REQUIRE(traffic.total_bytes_sent <= static_cast<int128>(traffic.max_bytes_sent) * pool.batch.ranks());
    pool_locality const local = locality_of(pool, libra::pair_count{});
    int128 rows = 0;
    for (libra::placed_segment const& s : pool.batch.segments) {
      rows += s.what.length * pool.batch.shape.q_heads;
    }
    REQUIRE(local.rows == rows);
    REQUIRE(local.local_rows <= local.rows);
    REQUIRE(local.local_work <= local.work);
    REQUIRE((traffic.total_bytes_sent > 0 || local.local_rows == local.rows || pool.batch.ranks() == 1));
  }
}

}  // namespace
