#pragma once

#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/gradient_routes.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/key_moves.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/panels.hpp>
#include <libra/program/port_loads.hpp>
#include <libra/program/wave_numbers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace libra::detail {

/// Rows of a tile that lie on another rank: their inputs come from there, and their results go back.
struct row_move {
  rank_id rank;  ///< of the tile
  std::size_t tile{};
  row_range tokens;
  rank_id home;
  std::int64_t local{};  ///< home row of `tokens.begin`
  bool near{};           ///< the home is in the node of `rank`
  /// Through whose ports the inputs leave the home's node and the results enter it; the home's own, or a neighbour's
  /// that keeps them in blocks for one round.
  rank_id exit;
  rank_id entry;
  /// There; one for each tensor, one after another.
  std::size_t exit_blocks{none};
  std::size_t entry_blocks{none};

  [[nodiscard]] bool relayed_out() const noexcept { return exit != home; }
  [[nodiscard]] bool relayed_back() const noexcept { return entry != home; }
};

/// Plans the way of every tile's rows, wave by wave, and has neighbours carry what the ports of home ranks have too
/// much of: rows both ways, and the keys that leave home.
class row_router {
 public:
  row_router(pool_batch const& batch, node_map const& nodes, std::vector<rank_tiles> const& ranks, pass direction,
             element_bytes const& width, std::int64_t least_bytes, bool kept = false)
      : batch_(batch),
        nodes_(nodes),
        ranks_(ranks),
        loads_(nodes, least_bytes) {
    for (tensor const x : fetched_rows(direction, kept)) {
      row_out_ += head_row_bytes(x, batch.shape, width);
    }
    for (tensor const x : row_outputs(direction)) {
      row_back_ += head_row_bytes(x, batch.shape, width);
    }
    key_out_ = 2 * head_row_bytes(tensor::k, batch.shape, width);
    key_back_ = 2 * head_row_bytes(tensor::dk_part, batch.shape, width);
    whole_key_back_ = 2 * head_row_bytes(tensor::dk, batch.shape, width);
  }

  /// Returns the moves by wave, `[waves + 4]`; puts relays into `keys`. Complexity: linear in moves.
  [[nodiscard]] std::vector<std::vector<row_move>> operator()(std::int32_t waves, key_routes& keys,
                                                              gradient_routes const& gradients) {
    moves_.assign(static_cast<std::size_t>(wave_numbers{waves}.count()), {});
    list_moves();
    relay_out(waves, keys);
    relay_back(waves, gradients);
    return std::move(moves_);
  }

 private:
  void list_moves() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t i = 0; i < ranks_[r].tiles.size(); ++i) {
        tile_ref const& t = ranks_[r].tiles[i];
        if (t.rows_home) {
          continue;
        }
        batch_.for_each_home(
            t.what.segment, {t.what.q_begin, t.what.q_end}, [&](rank_id home, row_range tokens, std::int64_t local) {
              moves_[static_cast<std::size_t>(t.wave)].push_back({.rank = rank_id(r),
                                                                  .tile = i,
                                                                  .tokens = tokens,
                                                                  .home = home,
                                                                  .local = local,
                                                                  .near = nodes_.of(home) == nodes_.of(rank_id(r)),
                                                                  .exit = home,
                                                                  .entry = home});
            });
      }
    }
  }
  [[nodiscard]] std::int64_t heads_of(row_move const& m) const {
    tile const& t = ranks_[m.rank.index()].tiles[m.tile].what;
    return t.head_end - t.head_begin;
  }

  /// `through` is `row_move::exit` or `row_move::entry`; `bytes` of one row of one head.
  void cut_rows(std::vector<row_move>& moves, rank_id row_move::* through, std::int64_t bytes) {
    parts_.clear();
    for (row_move const& m : moves) {
      if (m.near) {
        parts_.push_back(m);
        continue;
      }
      loads_.cut(m.home, m.tokens, bytes * heads_of(m), [&](rank_id by, row_range tokens) {
        row_move part = m;
        part.tokens = tokens;
        part.local = m.local + tokens.begin - m.tokens.begin;
        part.*through = by;
        parts_.push_back(part);
      });
    }
    moves.swap(parts_);
  }

  void relay_out(std::int32_t waves, key_routes& keys) {
    std::vector<key_move> all;
    all.swap(keys.moves);
    std::size_t next = 0;
    for (std::int32_t w = 1; w <= waves; ++w) {
      std::vector<row_move>& rows = moves_[static_cast<std::size_t>(w)];
      auto const from = static_cast<std::ptrdiff_t>(next);
      while (next < all.size() && all[next].round <= network_round(w)) {
        ++next;
      }
      loads_.clear();
      for (row_move const& m : rows) {
        if (!m.near) {
          loads_.add(m.home, m.tokens.size() * heads_of(m) * row_out_);
        }
      }
      auto const crosses = [&](key_move const& m) {
        return m.local >= 0 && m.round == network_round(w) && nodes_.of(m.from) != nodes_.of(m.to);
      };
      for (auto m = all.begin() + from; m != all.begin() + static_cast<std::ptrdiff_t>(next); ++m) {
        if (crosses(*m)) {
          loads_.add(m->from, m->tokens.size() * key_out_);
        }
      }
      loads_.close();
      cut_rows(rows, &row_move::exit, row_out_);
      for (auto m = all.begin() + from; m != all.begin() + static_cast<std::ptrdiff_t>(next); ++m) {
        if (crosses(*m)) {
          loads_.cut(m->from, m->tokens, key_out_,
                     [&](rank_id by, row_range tokens) { relay_keys(*m, by, tokens, keys); });
        } else {
          keys.moves.push_back(*m);
        }
      }
    }
    keys.moves.insert(keys.moves.end(), all.begin() + static_cast<std::ptrdiff_t>(next), all.end());
    sort_by_round(keys.moves);
  }

  /// Lists a part of a move, through a neighbour of its home or not.
  static void relay_keys(key_move const& m, rank_id by, row_range tokens, key_routes& keys) {
    key_move across = m;
    across.tokens = tokens;
    across.local = m.local + tokens.begin - m.tokens.begin;
    if (by != m.from) {
      key_move inside = across;
      inside.round = m.round - 1;  // as near_round is to network_round
      inside.to = by;
      inside.target = keys.transits.size();
      inside.target_transit = true;
      keys.transits.push_back({by, tokens, inside.round, m.round, {none, none}});
      keys.moves.push_back(inside);
      across.from = by;
      across.local = -1;
      across.source = inside.target;
      across.source_transit = true;
    }
    keys.moves.push_back(across);
  }

  void relay_back(std::int32_t waves, gradient_routes const& gradients) {
    // What sums bring to a home, by wave: rank and bytes.
    std::vector<std::vector<std::pair<rank_id, std::int64_t>>> sums(static_cast<std::size_t>(waves) + 1);
    for (std::size_t h = 0; h < gradients.homes.size(); ++h) {
      for (gradient_piece const& piece : gradients.homes[h]) {
        if (piece.round >= 1 && piece.round <= waves && nodes_.of(piece.from) != nodes_.of(rank_id(h))) {
          sums[static_cast<std::size_t>(piece.round)].emplace_back(
              h, piece.tokens.size() * (piece.whole ? whole_key_back_ : key_back_));
        }
      }
    }
    for (std::int32_t w = 1; w <= waves; ++w) {
      loads_.clear();
      std::vector<row_move>& rows = moves_[static_cast<std::size_t>(w)];
      for (row_move const& m : rows) {
        if (!m.near) {
          loads_.add(m.home, m.tokens.size() * heads_of(m) * row_back_);
        }
      }
      for (auto const& [home, bytes] : sums[static_cast<std::size_t>(w)]) {
        loads_.add(home, bytes);
      }
      loads_.close();
      cut_rows(rows, &row_move::entry, row_back_);
    }
  }

  pool_batch const& batch_;
  node_map const& nodes_;
  std::vector<rank_tiles> const& ranks_;
  port_loads loads_;
  std::int64_t row_out_{};
  std::int64_t row_back_{};
  std::int64_t key_out_{};
  std::int64_t key_back_{};
  std::int64_t whole_key_back_{};
  std::vector<std::vector<row_move>> moves_;
  std::vector<row_move> parts_;
};

}  // namespace libra::detail
