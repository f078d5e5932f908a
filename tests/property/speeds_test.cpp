#include "support/random_cases.hpp"

#include <libra/plan/certify.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// Ranks of unequal speed: shares take equal time, and moving work is never worse than leaving it where it is.

namespace {

using libra::int128;
using libra::pair_count;
using libra::pass;
using libra::pool_batch;
using libra::pool_dispatch;
using libra::tile;

/// A pool whose ranks are up to ten times as fast as one another.
pool_batch uneven_pool(std::uint64_t seed) {
  pool_batch batch = libra::test::random_pool(seed, {.dp = 5, .cp = 4, .window_tokens = 6000, .tokens = 24000});
  libra::random_bits bits(seed + 77);
  for (std::int32_t r = 0; r < batch.ranks(); ++r) {
    batch.speeds_permille.push_back(static_cast<std::int32_t>(bits.below(3) == 0 ? 1000 : bits.between(200, 2000)));
  }
  return batch;
}

/// Every row where it lies.
std::vector<tile> stay_home(pool_batch const& batch) {
  std::vector<tile> tiles;
  for (std::size_t s = 0; s < batch.segments.size(); ++s) {
    libra::segment_id const id(s);
    batch.for_each_home(id, {0, batch.length(id)}, [&](libra::rank_id home, libra::row_range rows, std::int64_t) {
      for (std::int32_t h = 0; h < batch.shape.q_heads; h += batch.shape.group()) {
        tiles.push_back({id, home, h, h + batch.shape.group(), rows.begin, rows.end});
      }
    });
  }
  return tiles;
}

/// The work of the finest piece that the longest segment is cut into.
int128 finest_piece(pool_batch const& batch) {
  std::int64_t longest = 0;
  for (libra::placed_segment const& s : batch.segments) {
    longest = std::max(longest, s.what.length);
  }
  return int128{2} * 16 * longest;
}

TEST_CASE("every rank takes the same time to within a grain, and none longer than if all stayed at home") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    pool_batch const batch = uneven_pool(seed);
    INFO("seed ", seed, ": ", libra::test::describe(batch));
    libra::topology links;
    links.ranks_per_node = 1 + static_cast<std::int32_t>(seed % 9);
    pool_dispatch const d = libra::pooled{}(batch, pair_count{}, links);
    libra::pool_certificate const proof = certify(batch, d, pair_count{});
    std::vector<tile> const home = stay_home(batch);
    libra::pool_certificate const stay = certify(batch, {home, home, 1, 0}, pair_count{});
    // A node holds a rank at least, and cuts between nodes are as fine as those between ranks. Of a segment that spans
    // nodes every head is cut for each of them, and what that leaves falls to the last.
    std::int32_t const slowest = libra::slowest_speed(batch.speeds_permille);
    int const pieces = links.ranks_per_node < batch.home.cp ? 6 * batch.shape.kv_heads : 4;
    int128 const slack = libra::at_speed(pieces * finest_piece(batch), slowest) + proof.lower_bound.forward / 50;
    REQUIRE(proof.makespan.forward <= proof.lower_bound.forward + slack);
    REQUIRE(proof.makespan.forward <= stay.makespan.forward + libra::at_speed(finest_piece(batch), slowest));
    REQUIRE(proof.makespan.backward <= stay.makespan.backward + libra::at_speed(3 * finest_piece(batch), slowest));
  }
}

TEST_CASE("a plan that knows the speeds is no slower on such ranks than one that does not") {
  for (std::uint64_t seed = 500; seed < 700; ++seed) {
    pool_batch const batch = uneven_pool(seed);
    INFO("seed ", seed, ": ", libra::test::describe(batch));
    pool_batch equal = batch;
    equal.speeds_permille.clear();
    pool_dispatch const unaware = libra::pooled{}(equal, pair_count{}, {});
    libra::pool_certificate const before = certify(batch, unaware, pair_count{});
    libra::pool_certificate const after = certify(batch, libra::pooled{}(batch, pair_count{}, {}), pair_count{});
    std::int32_t const slowest = libra::slowest_speed(batch.speeds_permille);
    REQUIRE(after.makespan.forward <= before.makespan.forward + libra::at_speed(finest_piece(batch), slowest));
  }
}

TEST_CASE("speeds of 1 for every rank change nothing of a plan") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    libra::test::planning_case c = libra::test::random_case(seed, {.tokens = 800});
    INFO(c.describe());
    c.options.speeds_permille.clear();
    libra::batch_plan const usual = c.plan();
    c.options.speeds_permille.assign(static_cast<std::size_t>(c.layout.ranks()), libra::unit_speed_permille);
    libra::batch_plan const same = c.plan();
    REQUIRE(same.fingerprint == usual.fingerprint);
    auto const pool = [&](libra::batch_plan const& plan) {
      return c.make_scheduler().plan_pool(plan, libra::micro_step_id(0), libra::pool_id(0));
    };
    REQUIRE(pool(same).fingerprint == pool(usual).fingerprint);
    REQUIRE(pool(same).certificate == pool(usual).certificate);
  }
}

}  // namespace
