#include "support/coverage.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/dispatch/ulysses.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using libra::document_id;
using libra::pool_batch;
using libra::pool_dispatch;
using libra::rank_id;
using libra::segment_id;
using libra::sequence_id;
using libra::slot_id;
using libra::tile;
using libra::ulysses;

static_assert(std::is_trivially_copyable_v<ulysses>);

pool_dispatch ulysses_of(pool_batch const& batch) { return ulysses{}(batch, libra::pair_count{}, libra::topology{}); }

pool_batch one_segment_a_slot(std::int32_t q_heads, std::int32_t kv_heads, std::int32_t cp, std::int32_t slots) {
  pool_batch batch{
      .shape = {q_heads, kv_heads, 16, {}}, .home = {100, cp}, .slots = slots, .first_rank = 0, .segments = {}};
  for (std::int32_t s = 0; s < slots; ++s) {
    batch.segments.push_back({{document_id(s), 0, 90}, sequence_id(s), slot_id(s), 0});
  }
  return batch;
}

TEST_CASE("heads that divide: each rank of the group takes its share of every segment") {
  pool_dispatch const d = ulysses_of(one_segment_a_slot(8, 2, 4, 2));
  CHECK(d.forward == std::vector<tile>{{segment_id(0), rank_id(0), 0, 2, 0, 90},
                                       {segment_id(0), rank_id(1), 2, 4, 0, 90},
                                       {segment_id(0), rank_id(2), 4, 6, 0, 90},
                                       {segment_id(0), rank_id(3), 6, 8, 0, 90},
                                       {segment_id(1), rank_id(4), 0, 2, 0, 90},
                                       {segment_id(1), rank_id(5), 2, 4, 0, 90},
                                       {segment_id(1), rank_id(6), 4, 6, 0, 90},
                                       {segment_id(1), rank_id(7), 6, 8, 0, 90}});
  CHECK(d.backward == d.forward);
  CHECK(d.ranks_per_exchange == 4);
  CHECK(d.idle_ranks == 0);
}

TEST_CASE("a share that spans key/value heads is cut between them") {
  pool_dispatch const d = ulysses_of(one_segment_a_slot(6, 3, 2, 1));
  CHECK(d.forward == std::vector<tile>{{segment_id(0), rank_id(0), 0, 2, 0, 90},
                                       {segment_id(0), rank_id(0), 2, 3, 0, 90},
                                       {segment_id(0), rank_id(1), 3, 4, 0, 90},
                                       {segment_id(0), rank_id(1), 4, 6, 0, 90}});
}

TEST_CASE("heads that do not divide: shares differ by one") {
  pool_dispatch const d = ulysses_of(one_segment_a_slot(7, 7, 3, 1));
  std::vector<std::int32_t> heads(3);
  for (tile const& t : d.forward) {
    heads[t.rank.index()] += t.head_end - t.head_begin;
  }
  CHECK(heads == std::vector<std::int32_t>{2, 2, 3});
  CHECK(d.idle_ranks == 0);
}

TEST_CASE("fewer heads than ranks: the others stay idle and are counted") {
  pool_dispatch const d = ulysses_of(one_segment_a_slot(2, 1, 5, 3));
  CHECK(d.idle_ranks == 9);
  std::vector<bool> busy(15);
  for (tile const& t : d.forward) {
    busy[t.rank.index()] = true;
  }
  CHECK(std::ranges::count(busy, true) == 6);
}

TEST_CASE("covers every row and head once, inside the sequence's own group") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    pool_batch const batch = libra::test::random_pool(seed, {.tokens = 1500});
    INFO("seed ", seed, ": ", libra::test::describe(batch));
    pool_dispatch const d = ulysses_of(batch);
    REQUIRE(libra::test::coverage_error(batch, d.forward) == "");
    REQUIRE(libra::test::coverage_error(batch, d.backward) == "");
    for (tile const& t : d.forward) {
      REQUIRE(t.rank.value / batch.home.cp == batch[t.segment].slot.value);
    }
  }
}

}  // namespace
