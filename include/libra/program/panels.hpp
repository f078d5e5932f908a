#pragma once

#include <libra/core/ids.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/check_tile.hpp>
#include <libra/program/op_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::detail {

/// A tile on the rank that computes it, and what of it is already there.
struct tile_ref {
  tile what;
  row_range keys;
  std::int32_t kv_head{};
  bool rows_home{};            ///< the rank holds all query rows
  bool keys_home{};            ///< the rank holds all keys
  std::int32_t wave{};         ///< 0: needs nothing; else the fetch round that brings its last input
  std::size_t panel{none};     ///< keys and values in the workspace, unless `keys_home`
  std::size_t gradient{none};  ///< partial dk and dv in the workspace, unless summed at home directly
};

/// A contiguous run of one key/value head's rows of one segment in a rank's workspace.
struct panel {
  segment_id segment;
  std::int32_t kv_head{};
  row_range keys;
  std::int32_t first_wave{};
  std::int32_t last_wave{};
  row_range present;  ///< while rounds are emitted: what earlier rounds brought
  std::size_t blocks[2]{none, none};
};

/// All tiles of one rank, in the order they are computed, and the panels they share.
struct rank_tiles {
  std::vector<tile_ref> tiles;
  std::vector<panel> inputs;
  std::vector<panel> gradients;
};

/// Joins the key ranges of the tiles that `uses` accepts into panels, one per contiguous run of a (segment, kv head),
/// and tells each tile its panel through `assign`.
template <class Uses, class Assign>
[[nodiscard]] std::vector<panel> join_panels(std::vector<tile_ref>& tiles, Uses uses, Assign assign) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if (uses(tiles[i])) {
      order.push_back(i);
    }
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::tuple(tiles[i].what.segment, tiles[i].kv_head, tiles[i].keys.begin);
  });
  std::vector<panel> panels;
  for (std::size_t const i : order) {
    tile_ref& t = tiles[i];
    bool const joins = !panels.empty() && panels.back().segment == t.what.segment &&
                       panels.back().kv_head == t.kv_head && t.keys.begin <= panels.back().keys.end;
    if (joins) {
      panel& last = panels.back();
      last.keys.end = std::max(last.keys.end, t.keys.end);
      last.first_wave = std::min(last.first_wave, t.wave);
      last.last_wave = std::max(last.last_wave, t.wave);
    } else {
      panels.push_back({t.what.segment, t.kv_head, t.keys, t.wave, t.wave, {}, {none, none}});
    }
    assign(t, panels.size() - 1);
  }
  return panels;
}

/// Groups the pool's tiles by rank, says which need nothing, and cuts the others into `waves` batches of like work.
///
/// Shape: `[ranks]`. Complexity: O(n log n) in the tiles.
[[nodiscard]] inline std::vector<rank_tiles> group_by_rank(pool_batch const& batch, std::span<tile const> tiles,
                                                           std::int32_t waves) {
  std::vector<rank_tiles> ranks(static_cast<std::size_t>(batch.ranks()));
  for (tile const& t : tiles) {
    check_tile(batch, t);
    row_range const keys = batch.shape.mask.panel(t.q_begin, t.q_end, batch.length(t.segment));
    auto const held = [&](row_range tokens) {
      return batch.home_of(t.segment, tokens.begin) == t.rank && batch.one_home(t.segment, tokens);
    };
    ranks[t.rank.index()].tiles.push_back({.what = t,
                                           .keys = keys,
                                           .kv_head = t.head_begin / batch.shape.group(),
                                           .rows_home = held({t.q_begin, t.q_end}),
                                           .keys_home = held(keys)});
  }
  auto const pairs = [&](tile_ref const& t) {
    return batch.shape.mask.pairs(t.what.q_begin, t.what.q_end, batch.length(t.what.segment)) *
           (t.what.head_end - t.what.head_begin);
  };
  for (rank_tiles& rank : ranks) {
    std::ranges::stable_partition(rank.tiles, [](tile_ref const& t) { return t.rows_home && t.keys_home; });
    int128 remote = 0;
    for (tile_ref const& t : rank.tiles) {
      remote += t.rows_home && t.keys_home ? 0 : pairs(t);
    }
    int128 sum = 0;
    for (tile_ref& t : rank.tiles) {
      if (!(t.rows_home && t.keys_home)) {
        t.wave = static_cast<std::int32_t>(1 + sum * waves / remote);
        sum += pairs(t);
      }
    }
  }
  return ranks;
}

}  // namespace libra::detail
