#include "support/printing.hpp"

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/zigzag_ring.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

using libra::rank_id;
using libra::segment_id;
using libra::tile;

libra::pool_batch batch_of(std::int64_t length, std::int32_t cp) {
  libra::pool_batch batch;
  batch.shape = {4, 2, 16, {}};
  batch.home = {64, cp, libra::sharding::zigzag};
  batch.slots = 1;
  batch.segments.push_back({{libra::document_id(0), 0, length}, libra::sequence_id(0), libra::slot_id(0), 0});
  batch.number_rows();
  return batch;
}

TEST_CASE("each rank computes all heads of its two chunks, at home") {
  libra::pool_batch const batch = batch_of(8, 2);
  libra::pool_dispatch const d = libra::zigzag_ring{}(batch, libra::pair_count{}, libra::topology{});
  CHECK(d.forward == std::vector<tile>{{segment_id(0), rank_id(0), 0, 2, 0, 2},
                                       {segment_id(0), rank_id(0), 0, 2, 6, 8},
                                       {segment_id(0), rank_id(0), 2, 4, 0, 2},
                                       {segment_id(0), rank_id(0), 2, 4, 6, 8},
                                       {segment_id(0), rank_id(1), 0, 2, 2, 4},
                                       {segment_id(0), rank_id(1), 0, 2, 4, 6},
                                       {segment_id(0), rank_id(1), 2, 4, 2, 4},
                                       {segment_id(0), rank_id(1), 2, 4, 4, 6}});
  CHECK(d.backward == d.forward);
  CHECK(d.flow == libra::key_flow::ring);
  CHECK(d.ranks_per_exchange == 2);
  for (tile const& t : d.forward) {
    CHECK(batch.home_of(t.segment, t.q_begin) == t.rank);
  }
}

TEST_CASE("chunks of equal size carry equal causal work; a segment too short for all leaves ranks without rows") {
  libra::pool_batch const batch = batch_of(64, 4);
  libra::pool_dispatch const d = libra::zigzag_ring{}(batch, libra::pair_count{}, libra::topology{});
  std::vector<std::int64_t> work(4);
  for (tile const& t : d.forward) {
    work[t.rank.index()] += libra::pair_count{}(batch.shape_of(t)).forward;
  }
  CHECK(work == std::vector<std::int64_t>(4, work[0]));
  libra::pool_dispatch const tiny = libra::zigzag_ring{}(batch_of(1, 4), libra::pair_count{}, libra::topology{});
  CHECK(tiny.forward.size() == 2);  // one row, two key/value heads
}

}  // namespace
