#include "support/hand_pool.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/program/panels.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::pool_batch;
using libra::rank_id;
using libra::row_range;
using libra::segment_id;
using libra::tile;
using libra::detail::group_by_rank;
using libra::detail::join_panels;
using libra::detail::panel;
using libra::detail::rank_tiles;
using libra::detail::tile_ref;

TEST_CASE("by hand: what of each tile is at home") {
  std::vector<rank_tiles> const ranks = group_by_rank(libra::test::hand_pool(), libra::test::hand_tiles(), 1);
  REQUIRE(ranks.size() == 4);
  REQUIRE(ranks[0].tiles.size() == 3);
  tile_ref const& local = ranks[0].tiles[0];
  CHECK(local.rows_home);
  CHECK(local.keys_home);
  CHECK(local.wave == 0);
  CHECK(local.keys == row_range{0, 128});
  CHECK(local.kv_head == 0);
  tile_ref const& foreign = ranks[0].tiles[2];
  CHECK_FALSE(foreign.rows_home);
  CHECK_FALSE(foreign.keys_home);
  CHECK(foreign.wave == 1);
  CHECK(foreign.kv_head == 1);
  tile_ref const& rows_only = ranks[1].tiles[0];
  CHECK(rows_only.rows_home);
  CHECK_FALSE(rows_only.keys_home);
  CHECK(rows_only.keys == row_range{0, 192});
  CHECK_FALSE(ranks[3].tiles[0].rows_home);
}

TEST_CASE("tiles that need nothing come first, whatever their order was") {
  std::vector<tile> tiles = libra::test::hand_tiles();
  std::ranges::reverse(tiles);
  for (rank_tiles const& rank : group_by_rank(libra::test::hand_pool(), tiles, 3)) {
    CHECK(std::ranges::is_sorted(rank.tiles, {}, [](tile_ref const& t) { return t.wave; }));
    for (tile_ref const& t : rank.tiles) {
      CHECK((t.wave == 0) == (t.rows_home && t.keys_home));
      CHECK(t.wave <= 3);
    }
  }
}

TEST_CASE("waves hold like work") {
  // Eight equal tiles that need everything, over four waves.
  pool_batch batch = libra::test::hand_pool();
  batch.shape = {8, 8, 16, libra::attention_mask::causal()};
  std::vector<tile> tiles;
  for (std::int32_t h = 0; h < 8; ++h) {
    tiles.push_back({segment_id(1), rank_id(0), h, h + 1, 0, 100});
  }
  std::vector<rank_tiles> const ranks = group_by_rank(batch, tiles, 4);
  std::vector<std::int32_t> waves;
  for (tile_ref const& t : ranks[0].tiles) {
    waves.push_back(t.wave);
  }
  CHECK(waves == std::vector<std::int32_t>{1, 1, 2, 2, 3, 3, 4, 4});
}

TEST_CASE("tiles are checked") {
  std::vector<tile> const tiles{{segment_id(0), rank_id(4), 0, 2, 0, 9}};
  CHECK_THROWS_WITH_AS(static_cast<void>(group_by_rank(libra::test::hand_pool(), tiles, 1)),
                       "tile of segment 0 is on rank 4, expected 0 to 3", libra::input_error);
}

TEST_CASE("key ranges that touch form one panel, others do not") {
  auto const ref = [](std::int32_t segment, std::int32_t kv_head, row_range keys, std::int32_t wave) {
    tile_ref t;
    t.what.segment = segment_id(segment);
    t.kv_head = kv_head;
    t.keys = keys;
    t.wave = wave;
    return t;
  };
  std::vector<tile_ref> tiles{ref(0, 0, {128, 256}, 2), ref(0, 0, {0, 128}, 1), ref(0, 0, {384, 500}, 1),
                              ref(0, 1, {0, 128}, 3),   ref(1, 0, {0, 128}, 1), ref(0, 0, {0, 64}, 3),
                              ref(0, 0, {256, 300}, 9)};
  std::vector<panel> const panels = join_panels(
      tiles, [](tile_ref const& t) { return t.wave != 9; }, [](tile_ref& t, std::size_t p) { t.panel = p; });
  REQUIRE(panels.size() == 4);
  CHECK(panels[0].keys == row_range{0, 256});
  CHECK(panels[0].first_wave == 1);
  CHECK(panels[0].last_wave == 3);
  CHECK(panels[1].keys == row_range{384, 500});
  CHECK(panels[2].kv_head == 1);
  CHECK(panels[3].segment == segment_id(1));
  std::vector<std::size_t> of_tile;
  for (tile_ref const& t : tiles) {
    of_tile.push_back(t.panel);
  }
  CHECK(of_tile == std::vector<std::size_t>{0, 0, 1, 2, 3, 0, libra::detail::none});
}

}  // namespace
