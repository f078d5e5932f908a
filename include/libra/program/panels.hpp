#pragma once

#include <libra/core/ids.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/op_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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
  std::int32_t wave{};         ///< which batch computes it
  std::size_t panel{none};     ///< keys and values in the workspace, unless `keys_home`
  std::size_t gradient{none};  ///< partial dk and dv in the workspace, unless summed at home directly

  [[nodiscard]] bool local() const noexcept { return rows_home && keys_home; }
};

/// A tile of a rank, and whether its rows and keys lie there. Pre: `check_tile`.
[[nodiscard]] inline tile_ref refer(pool_batch const& batch, tile const& t) {
  row_range const keys = batch.shape.mask.panel(t.q_begin, t.q_end, batch.length(t.segment));
  auto const held = [&](row_range tokens) {
    return batch.home_of(t.segment, tokens.begin) == t.rank && batch.one_home(t.segment, tokens);
  };
  return {.what = t,
          .keys = keys,
          .kv_head = t.head_begin / batch.shape.group(),
          .rows_home = held({t.q_begin, t.q_end}),
          .keys_home = held(keys)};
}

/// A contiguous run of one key/value head's rows of one segment in a rank's workspace.
struct panel {
  segment_id segment;
  std::int32_t kv_head{};
  row_range keys;
  std::int32_t first_wave{};
  std::int32_t last_wave{};
  /// Input panels: the first round that brings something, and the last that passes something on to a neighbour.
  std::int32_t first_round{};
  std::int32_t last_round{};
  std::size_t blocks[2]{none, none};

  /// Gradient panels: zero from the beginning on, and not only before the first wave that adds to it.
  [[nodiscard]] constexpr bool cleared_first() const noexcept { return first_wave <= 1; }
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
      panels.push_back({t.what.segment,
                        t.kv_head,
                        t.keys,
                        t.wave,
                        t.wave,
                        std::numeric_limits<std::int32_t>::max(),
                        0,
                        {none, none}});
    }
    assign(t, panels.size() - 1);
  }
  return panels;
}

}  // namespace libra::detail
