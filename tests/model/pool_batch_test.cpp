#include "support/printing.hpp"

#include <libra/model/pool_batch.hpp>

#include <doctest/doctest.h>

#include <cstddef>

#include <algorithm>

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

TEST_CASE("each next shard of a sequence may lie in another group") {
  pool_batch batch = two_slots();
  CHECK(batch.held_by(rank_id(4)) == libra::home_shard{slot_id(1), 1});
  batch.stride = 1;
  CHECK(batch.rank_of(slot_id(0), 1) == rank_id(4));
  CHECK(batch.rank_of(slot_id(0), 2) == rank_id(2));
  CHECK(batch.rank_of(slot_id(1), 1) == rank_id(1));
  for (std::int32_t r = 0; r < batch.ranks(); ++r) {
    libra::home_shard const held = batch.held_by(rank_id(r));
    CHECK(batch.rank_of(held.slot, held.number) == rank_id(r));
    CHECK(batch.local_tokens(rank_id(r)) == batch.home.local_tokens(held.number));
  }
  CHECK(batch.usual_rank(batch.held_by(rank_id(4))) == rank_id(1));
  std::vector<std::int32_t> homes;
  batch.for_each_home(segment_id(1), {0, 7},
                      [&](rank_id home, row_range, std::int64_t) { homes.push_back(home.value); });
  CHECK(homes == std::vector<std::int32_t>{0, 4, 2});
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

TEST_CASE("zigzag: every rank holds a chunk from either end of every segment, each row once") {
  for (std::int32_t cp = 1; cp <= 5; ++cp) {
    libra::pool_batch batch;
    batch.home = {64, cp, libra::sharding::zigzag};
    batch.slots = 2;
    std::int64_t position = 0;
    for (std::int64_t const length : {17, 1, 40, 6}) {
      batch.segments.push_back(
          {{libra::document_id(0), 0, length}, libra::sequence_id(0), libra::slot_id(1), position});
      position += length;
    }
    batch.number_rows();
    std::vector<std::vector<int>> seen(static_cast<std::size_t>(batch.ranks()));
    for (std::size_t r = 0; r < seen.size(); ++r) {
      seen[r].resize(static_cast<std::size_t>(batch.local_tokens(libra::rank_id(r))));
    }
    for (std::size_t s = 0; s < batch.segments.size(); ++s) {
      libra::segment_id const id(s);
      std::int64_t next = 0;
      batch.for_each_home(id, {0, batch.length(id)},
                          [&](libra::rank_id r, libra::row_range tokens, std::int64_t local) {
                            CHECK(tokens.begin == next);
                            CHECK(batch.home_of(id, tokens.begin) == r);
                            CHECK(batch.one_home(id, tokens));
                            next = tokens.end;
                            for (std::int64_t i = 0; i < tokens.size(); ++i) {
                              ++seen[r.index()][static_cast<std::size_t>(local + i)];
                            }
                          });
      CHECK(next == batch.length(id));
    }
    for (auto const& rows : seen) {
      CHECK(std::ranges::all_of(rows, [](int n) { return n == 1; }));
    }
    CHECK(batch.local_tokens(libra::rank_id(0)) == 0);  // slot 0 holds nothing
  }
}

TEST_CASE("zigzag by hand: 8 tokens on two ranks are chunks 0, 3 and 1, 2") {
  libra::pool_batch batch;
  batch.home = {8, 2, libra::sharding::zigzag};
  batch.slots = 1;
  batch.segments.push_back({{libra::document_id(0), 0, 8}, libra::sequence_id(0), libra::slot_id(0), 0});
  batch.number_rows();
  std::vector<std::int64_t> at;
  batch.for_each_home(libra::segment_id(0), {0, 8}, [&](libra::rank_id r, libra::row_range tokens, std::int64_t local) {
    at.insert(at.end(), {r.value, tokens.begin, tokens.end, local});
  });
  CHECK(at == std::vector<std::int64_t>{0, 0, 2, 0, 1, 2, 6, 0, 0, 6, 8, 2});
  CHECK_FALSE(batch.one_home(libra::segment_id(0), {0, 8}));  // both ends are on one rank, the middle is not
}

TEST_CASE("ranks have speed 1 unless it is said") {
  pool_batch batch = two_slots();
  CHECK(batch.speed_of(rank_id(5)) == 1000);
  CHECK(batch.speed_of(1, 4) == 3000);
  batch.speeds_permille = {1000, 500, 250, 1000, 1000, 2000};
  CHECK(batch.speed_of(rank_id(5)) == 2000);
  CHECK(batch.speed_of(1, 4) == 1750);
}

}  // namespace
