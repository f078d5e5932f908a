#include "support/printing.hpp"

#include <libra/model/pool_batch.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <tuple>
#include <vector>

namespace {

using libra::document_id;
using libra::pool_batch;
using libra::rank_id;
using libra::row_range;
using libra::segment_id;
using libra::sequence_id;
using libra::slot_id;
using libra::tile;

/// Two slots of three ranks over ten tokens: shards [0, 3), [3, 6), [6, 10).
pool_batch two_slots() {
  return {.shape = {.q_heads = 8, .kv_heads = 2, .head_dim = 64, .mask = {}},
          .home = {10, 3},
          .slots = 2,
          .first_rank = 0,
          .segments = {{{document_id(4), 0, 2}, sequence_id(7), slot_id(0), 0},
                       {{document_id(5), 100, 7}, sequence_id(7), slot_id(0), 2},
                       {{document_id(6), 0, 10}, sequence_id(3), slot_id(1), 0}}};
}

TEST_CASE("ranks are numbered by slot, then inside the group") {
  pool_batch const batch = two_slots();
  CHECK(batch.ranks() == 6);
  CHECK(batch.rank_of(slot_id(0), 2) == rank_id(2));
  CHECK(batch.rank_of(slot_id(1), 1) == rank_id(4));
  CHECK(batch.local_tokens(rank_id(3)) == 3);
  CHECK(batch.local_tokens(rank_id(5)) == 4);
  CHECK(batch.length(segment_id(1)) == 7);
  CHECK(batch[segment_id(2)].what.document == document_id(6));
}

TEST_CASE("a segment's tokens live where its position puts them") {
  pool_batch const batch = two_slots();
  std::vector<std::int32_t> homes;
  for (std::int64_t token = 0; token < 7; ++token) {
    homes.push_back(batch.home_of(segment_id(1), token).value);
  }
  CHECK(homes == std::vector<std::int32_t>{0, 1, 1, 1, 2, 2, 2});
  CHECK(batch.home_of(segment_id(2), 9) == rank_id(5));
  CHECK(batch.one_home(segment_id(0), {0, 2}));
  CHECK(batch.one_home(segment_id(1), {1, 4}));
  CHECK_FALSE(batch.one_home(segment_id(1), {0, 2}));
  CHECK_FALSE(batch.one_home(segment_id(1), {3, 5}));
}

TEST_CASE("runs of one home, with their first local row") {
  using run = std::tuple<std::int32_t, std::int64_t, std::int64_t, std::int64_t>;
  pool_batch const batch = two_slots();
  std::vector<run> runs;
  auto const add = [&](rank_id r, row_range tokens, std::int64_t local) {
    runs.emplace_back(r.value, tokens.begin, tokens.end, local);
  };
  batch.for_each_home(segment_id(1), {0, 7}, add);
  CHECK(runs == std::vector<run>{{0, 0, 1, 2}, {1, 1, 4, 0}, {2, 4, 7, 0}});
  runs.clear();
  batch.for_each_home(segment_id(1), {2, 5}, add);
  CHECK(runs == std::vector<run>{{1, 2, 4, 1}, {2, 4, 5, 0}});
  runs.clear();
  batch.for_each_home(segment_id(2), {4, 8}, add);
  CHECK(runs == std::vector<run>{{4, 4, 6, 1}, {5, 6, 8, 0}});
}

TEST_CASE("a tile as a cost model sees it") {
  pool_batch batch = two_slots();
  batch.shape.mask = libra::attention_mask::window(4);
  libra::tile_shape const shape = batch.shape_of(tile{segment_id(1), rank_id(0), 4, 7, 2, 6});
  CHECK(shape.q_begin == 2);
  CHECK(shape.q_end == 6);
  CHECK(shape.length == 7);
  CHECK(shape.heads == 3);
  CHECK(shape.head_dim == 64);
  CHECK(shape.mask == libra::attention_mask::window(4));
}

TEST_CASE("a dispatch has tiles for each pass") {
  libra::pool_dispatch dispatch;
  dispatch.forward.resize(1);
  dispatch.backward.resize(2);
  CHECK(dispatch.of(libra::pass::forward).size() == 1);
  CHECK(dispatch.of(libra::pass::backward).size() == 2);
}

}  // namespace
