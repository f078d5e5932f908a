#include "support/coverage.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/dispatch/ring_tiles.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::int128;
using libra::pool_batch;
using libra::pool_dispatch;
using libra::tile;
using libra::detail::ring_tiles;

pool_batch one_segment(std::int32_t q_heads, std::int32_t kv_heads, std::int32_t cp, std::int64_t length) {
  pool_batch batch{
      .shape = {q_heads, kv_heads, 16, {}}, .home = {length, cp}, .slots = 1, .first_rank = 0, .segments = {}};
  batch.segments.push_back({{libra::document_id(0), 0, length}, libra::sequence_id(0), libra::slot_id(0), 0});
  return batch;
}

TEST_CASE("covers every row and head once, for every way to divide the group") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    pool_batch const batch = libra::test::random_pool(seed, {.tokens = 1500});
    INFO("seed ", seed, ": ", libra::test::describe(batch));
    for (std::int32_t head_ranks = 1; head_ranks <= batch.home.cp; ++head_ranks) {
      if (batch.home.cp % head_ranks == 0) {
        pool_dispatch const d = ring_tiles(batch, head_ranks);
        REQUIRE(libra::test::coverage_error(batch, d.forward) == "");
        REQUIRE(d.backward == d.forward);
        REQUIRE(d.flow == libra::key_flow::ring);
        REQUIRE(d.ranks_per_exchange == batch.home.cp);
      }
    }
  }
}

TEST_CASE("head and tail chunks together have equal causal work") {
  // 240 rows in ten chunks of 24: row i of a head chunk and the mirrored row of the tail chunk see 241 keys together.
  pool_batch const batch = one_segment(4, 2, 5, 240);
  std::vector<int128> pairs(5);
  for (tile const& t : ring_tiles(batch, 1).forward) {
    pairs[t.rank.index()] += batch.shape.mask.pairs(t.q_begin, t.q_end, 240) * (t.head_end - t.head_begin);
  }
  CHECK(pairs == std::vector<int128>(5, 4 * 24 * 241));
}

TEST_CASE("ranks without heads are idle and counted") {
  CHECK(ring_tiles(one_segment(1, 1, 4, 40), 2).idle_ranks == 2);
  CHECK(ring_tiles(one_segment(2, 1, 4, 40), 2).idle_ranks == 0);
  CHECK(ring_tiles(one_segment(1, 1, 4, 40), 1).idle_ranks == 0);
}

TEST_CASE("segments of fewer rows than chunks leave some ranks without rows") {
  pool_dispatch const d = ring_tiles(one_segment(1, 1, 4, 3), 1);
  CHECK(d.forward.size() == 3);
  CHECK(libra::test::coverage_error(one_segment(1, 1, 4, 3), d.forward) == "");
}

}  // namespace
