#include "support/hand_pool.hpp"
#include "support/printing.hpp"

#include <libra/program/waves.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

namespace {

using libra::pass;
using libra::pool_batch;
using libra::rank_id;
using libra::row_range;
using libra::segment_id;
using libra::tile;
using libra::detail::rank_tiles;
using libra::detail::tile_ref;

std::vector<rank_tiles> cut(pool_batch const& batch, std::vector<tile> const& tiles, std::int32_t waves,
                            pass p = pass::forward, std::int32_t ranks_per_node = 0) {
  libra::node_map const nodes(batch, ranks_per_node);
  return libra::detail::wave_cutter(batch, nodes, p, {}, waves)(tiles);
}

constexpr std::int64_t long_tokens = std::int64_t{1} << 14;

/// One long document of slot 0; slot 1 has none.
pool_batch long_document() {
  return {.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = libra::attention_mask::causal()},
          .home = {long_tokens, 2},
          .slots = 2,
          .first_rank = 0,
          .segments = {{{libra::document_id(0), 0, long_tokens}, libra::sequence_id(0), libra::slot_id(0), 0}}};
}

/// The ranks of slot 1 compute all of it.
std::vector<tile> helpers_tiles() {
  return {{segment_id(0), rank_id(2), 0, 2, 0, long_tokens}, {segment_id(0), rank_id(3), 2, 4, 0, long_tokens}};
}

TEST_CASE("by hand: what of each tile is at home") {
  std::vector<rank_tiles> const ranks = cut(libra::test::hand_pool(), libra::test::hand_tiles(), 1);
  REQUIRE(ranks.size() == 4);
  REQUIRE(ranks[0].tiles.size() == 3);
  tile_ref const& local = ranks[0].tiles[0];
  CHECK(local.local());
  CHECK(local.keys == row_range{0, 128});
  CHECK(local.kv_head == 0);
  auto const foreign =
      std::ranges::find(ranks[0].tiles, segment_id(2), [](tile_ref const& t) { return t.what.segment; });
  REQUIRE(foreign != ranks[0].tiles.end());
  CHECK_FALSE(foreign->rows_home);
  CHECK_FALSE(foreign->keys_home);
  CHECK(foreign->wave == 1);
  CHECK(foreign->kv_head == 1);
  tile_ref const& rows_only = ranks[1].tiles[0];
  CHECK(rows_only.rows_home);
  CHECK_FALSE(rows_only.keys_home);
  CHECK(rows_only.keys == row_range{0, 192});
  CHECK_FALSE(ranks[3].tiles[0].rows_home);
}

TEST_CASE("tiles that need nothing run first or last, whatever their order was") {
  std::vector<tile> tiles = libra::test::hand_tiles();
  std::ranges::reverse(tiles);
  for (pass const p : {pass::forward, pass::backward}) {
    for (rank_tiles const& rank : cut(libra::test::hand_pool(), tiles, 3, p)) {
      CHECK(std::ranges::is_sorted(rank.tiles, {}, [](tile_ref const& t) { return t.wave; }));
      for (tile_ref const& t : rank.tiles) {
        CHECK((t.wave >= 1 && t.wave <= 3) == !t.local());
        CHECK(t.wave <= 5);
      }
    }
  }
}

TEST_CASE("a tile is cut where a wave ends, into like shares of work and rows, and loses nothing") {
  pool_batch const batch = long_document();
  for (rank_tiles const& rank : cut(batch, helpers_tiles(), 4)) {
    if (rank.tiles.empty()) {
      continue;
    }
    std::map<std::int32_t, std::int64_t> rows;
    std::map<std::int32_t, double> pairs;
    std::vector<row_range> all;
    for (tile_ref const& t : rank.tiles) {
      rows[t.wave] += t.what.q_end - t.what.q_begin;
      pairs[t.wave] += static_cast<double>(batch.shape.mask.pairs(t.what.q_begin, t.what.q_end, long_tokens));
      all.push_back({t.what.q_begin, t.what.q_end});
    }
    CHECK(rows.size() == 4);
    double const all_pairs = pairs[1] + pairs[2] + pairs[3] + pairs[4];
    for (auto const& [w, sixths] : std::map<std::int32_t, std::int64_t>{{1, 1}, {2, 2}, {3, 2}, {4, 1}}) {
      CHECK(rows[w] >= sixths * long_tokens / 6 - 256);
      CHECK(rows[w] <= sixths * long_tokens / 6 + 256);
      CHECK(pairs[w] == doctest::Approx(static_cast<double>(sixths) / 6 * all_pairs).epsilon(0.1));
    }
    std::ranges::sort(all, {}, &row_range::begin);
    std::int64_t next = 0;
    for (row_range const& r : all) {
      CHECK(r.begin == next);
      next = r.end;
    }
    CHECK(next == long_tokens);
  }
}

TEST_CASE("waves grow from short ones up to a length, and end as short") {
  auto const ranks = cut(long_document(), helpers_tiles(), 20);
  std::map<std::int32_t, std::int64_t> rows;
  for (tile_ref const& t : ranks[2].tiles) {
    rows[t.wave] += t.what.q_end - t.what.q_begin;
  }
  // 1, 2, ... 8 parts, four times 8 in the middle, and back: 104 in all. Cuts fall on key blocks, at either end.
  constexpr std::int64_t longest = libra::detail::wave_cutter::longest_wave;
  for (std::int64_t w = 1; w <= 20; ++w) {
    CAPTURE(w);
    std::int64_t const parts = std::min({w, 21 - w, longest});
    CHECK(std::abs(rows[static_cast<std::int32_t>(w)] - parts * long_tokens / 104) <= 256);
  }
}

TEST_CASE("what crosses to a rank with time left takes more waves than its work") {
  // The waves are 1, 2, 3, 4, 4, 3, 2 and 1 parts of 20. Nine of 64 parts of the work end in the second; with two
  // fifths of the time that is left up to seven eighths, 0.43 in all, in the fourth.
  std::vector<tile> tiles = helpers_tiles();
  tiles[0].q_end = long_tokens * 3 / 8;
  auto const last_of = [&](std::int32_t ranks_per_node) {
    auto const ranks = cut(long_document(), tiles, 8, pass::forward, ranks_per_node);
    CHECK(ranks[3].tiles.back().wave == 8);
    std::int64_t rows = 0;
    for (tile_ref const& t : ranks[2].tiles) {
      rows += t.what.q_end - t.what.q_begin;
    }
    CHECK(rows == long_tokens * 3 / 8);
    return ranks[2].tiles.back().wave;
  };
  CHECK(last_of(2) == 4);
  CHECK(last_of(4) == 2);  // nothing crosses to another node
}

/// Ranks 2 and 3, of another node than a long document, hold sixteen short ones. Shape: `[ranks]`, what each computes:
/// rank 2 an eighth of the long document's rows, and all of the short ones.
std::vector<rank_tiles> long_beside_short(pass direction) {
  pool_batch batch = long_document();
  std::vector<tile> tiles{{segment_id(0), rank_id(2), 0, 2, 0, long_tokens / 8}};
  for (std::int32_t d = 0; d < 16; ++d) {
    batch.segments.push_back({{libra::document_id(1 + static_cast<std::size_t>(d)), 0, 512},
                              libra::sequence_id(1),
                              libra::slot_id(1),
                              std::int64_t{512} * d});
    segment_id const s(batch.segments.size() - 1);
    tiles.push_back({s, rank_id(2), 0, 2, 0, 512});
    tiles.push_back({s, rank_id(2), 2, 4, 0, 512});
  }
  return cut(batch, tiles, 8, direction, 2);
}

TEST_CASE("what needs nothing lies between the tiles that cross, so that their rows take many rounds") {
  auto const ranks = long_beside_short(pass::forward);
  std::map<std::int32_t, std::int64_t> crossing;
  std::map<std::int32_t, std::int64_t> local;
  for (tile_ref const& t : ranks[2].tiles) {
    (t.local() ? local : crossing)[t.wave] += t.what.q_end - t.what.q_begin;
  }
  // Three quarters of it come first, an eighth of the time last; the waves between have some of either.
  for (std::int32_t w = 5; w <= 6; ++w) {
    CAPTURE(w);
    CHECK(crossing[w] > 0);
    CHECK(local[w] > 0);
  }
  CHECK(local[0] == 16 * 2 * 512 * 3 / 4);
  CHECK(local[libra::detail::wave_numbers{8}.first_late()] > 0);
  std::int64_t rows = 0;
  for (auto const& [w, n] : local) {
    rows += n;
  }
  CHECK(rows == 16 * 2 * 512);
}

TEST_CASE("backward, what needs nothing comes first or last, never between") {
  auto const ranks = long_beside_short(pass::backward);
  libra::detail::wave_numbers const waves{8};
  std::map<std::int32_t, std::int64_t> local;
  for (tile_ref const& t : ranks[2].tiles) {
    if (t.local()) {
      CHECK((t.wave == 0 || t.wave >= waves.first_late()));
      local[t.wave] += t.what.q_end - t.what.q_begin;
    }
  }
  CHECK(local[0] > 0);
  CHECK(local[0] <= 16 * 2 * 512 / 2);
  CHECK(local[waves.first_late()] > 0);
  CHECK(local[waves.second_late()] > 0);
}

TEST_CASE("heads begin at different rows, so that a wave's rows come from many homes") {
  auto const ranks = cut(long_document(), helpers_tiles(), 4);
  CHECK(ranks[2].tiles.front().what.q_begin != ranks[3].tiles.front().what.q_begin);
}

TEST_CASE("what needs the own node only surrounds what crosses the network") {
  // Nodes of two ranks. Rank 2 computes all of segment 2, half of which is rank 3's, and a part of segment 0.
  std::vector<tile> const tiles{{segment_id(0), rank_id(0), 0, 2, 0, 256}, {segment_id(0), rank_id(2), 2, 4, 0, 256},
                                {segment_id(1), rank_id(2), 0, 2, 0, 100}, {segment_id(1), rank_id(2), 2, 4, 0, 100},
                                {segment_id(2), rank_id(2), 0, 2, 0, 60},  {segment_id(2), rank_id(2), 2, 4, 0, 60}};
  auto const ranks = cut(libra::test::hand_pool(), tiles, 1, pass::forward, 2);
  std::vector<std::int32_t> order;
  for (tile_ref const& t : ranks[2].tiles) {
    order.push_back(t.what.segment.value);
  }
  auto const far = std::ranges::find(order, 0);
  REQUIRE(far != order.end());
  CHECK(far != order.begin());
  CHECK(far + 1 != order.end());
}

TEST_CASE("tiles are checked") {
  std::vector<tile> const tiles{{segment_id(0), rank_id(4), 0, 2, 0, 9}};
  CHECK_THROWS_WITH_AS(static_cast<void>(cut(libra::test::hand_pool(), tiles, 1)),
                       "tile of segment 0 is on rank 4, expected 0 to 3", libra::input_error);
}

TEST_CASE("a wave is the same time on every rank: a slow one does less in it") {
  pool_batch batch = long_document();
  // Rank 2 has all rows of one head, rank 3 half of the other's: a quarter of the work.
  std::vector<tile> const tiles{{segment_id(0), rank_id(2), 0, 2, 0, long_tokens},
                                {segment_id(0), rank_id(3), 2, 4, 0, long_tokens / 2}};
  auto const waves_of = [&](std::size_t r) {
    std::map<std::int32_t, double> pairs;
    std::vector<rank_tiles> const ranks = cut(batch, tiles, 4);
    for (tile_ref const& t : ranks[r].tiles) {
      pairs[t.wave] += static_cast<double>(batch.shape.mask.pairs(t.what.q_begin, t.what.q_end, long_tokens));
    }
    return pairs;
  };
  CHECK(waves_of(3).size() == 2);
  CHECK(waves_of(2).size() == 4);
  // At a quarter of the speed it is as long in every wave as rank 2.
  batch.speeds_permille = {1000, 1000, 1000, 250};
  auto const fast = waves_of(2);
  auto const slow = waves_of(3);
  REQUIRE(slow.size() == 4);
  REQUIRE(fast.size() == 4);
  for (auto const& [wave, pairs] : slow) {
    CHECK(4 * pairs == doctest::Approx(fast.at(wave)).epsilon(0.15));
  }
  // Twice as slow as that, it is the slowest, and rank 2 is done in half the time.
  batch.speeds_permille[3] = 125;
  CHECK(waves_of(3).size() == 4);
  CHECK(waves_of(2).size() == 2);
}

}  // namespace
