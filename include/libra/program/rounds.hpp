#pragma once

#include <libra/program/pool_build.hpp>
#include <libra/program/round_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace libra::detail {

/// Writes the exchanges of a pass, round by round. Pre: memory is planned.
class round_writer {
 public:
  explicit round_writer(pool_build& pool) : pool_(pool), moved_(programs_of(pool.ranks)) {}

  void operator()() {
    moved_.reserve(usual_transfers());
    std::size_t next = 0;
    for (std::int32_t f = 0; f < fetch_rounds(pool_.waves); ++f) {
      if (has_round(&skeleton::fetch, f)) {
        fetch(f, next);
      }
    }
    sort_gradients();
    for (std::int32_t d = 1; d < wave_numbers{pool_.waves}.count(); ++d) {
      if (has_round(&skeleton::deliver, d)) {
        deliver(d);
      }
    }
  }

 private:
  using rounds = std::vector<std::size_t> skeleton::*;

  /// About how many transfers most ranks have at either end.
  [[nodiscard]] std::size_t usual_transfers() const {
    std::size_t rows = 0;
    for (std::vector<row_move> const& moves : pool_.row_moves) {
      rows += moves.size();
    }
    std::size_t sums = 0;
    for (node_sum const& s : pool_.gradients.sums) {
      sums += s.parts.size();
    }
    for (std::vector<gradient_piece> const& pieces : pool_.gradients.homes) {
      sums += pieces.size();
    }
    std::size_t const all =
        rows * (pool_.fetched().size() + row_outputs(pool_.direction).size()) + 2 * (pool_.keys.moves.size() + sums);
    return all / std::max<std::size_t>(1, pool_.ranks.size()) * 9 / 8;
  }

  [[nodiscard]] bool has_round(rounds which, std::int32_t number) const {
    return !pool_.ranks.empty() && (pool_.ranks.front().steps.*which)[static_cast<std::size_t>(number)] != none;
  }

  void close(round_list& moved, rounds which, std::int32_t number) {
    for (std::size_t r = 0; r < pool_.ranks.size(); ++r) {
      skeleton& steps = pool_.ranks[r].steps;
      moved.close(r, steps.ops[(steps.*which)[static_cast<std::size_t>(number)]]);
    }
  }

  // --- inputs ------------------------------------------------------------------------------------------------------

  void fetch(std::int32_t f, std::size_t& next) {
    round_list& moved = moved_;
    for (std::int32_t wave = std::max(1, f); wave <= std::min(wave_of_round(f), pool_.waves); ++wave) {
      if (f != near_round(wave) && f != network_round(wave)) {
        continue;
      }
      for (row_move const& m : pool_.row_moves[static_cast<std::size_t>(wave)]) {
        fetch_rows(moved, m, f == near_round(wave));
      }
    }
    for (; next < pool_.keys.moves.size() && pool_.keys.moves[next].round == f; ++next) {
      move_keys(moved, pool_.keys.moves[next]);
    }
    close(moved, &skeleton::fetch, f);
  }

  /// Brings a tile's rows from their home: inside the node first, also to where they leave it.
  void fetch_rows(round_list& moved, row_move const& m, bool inside) const {
    if (inside ? !m.near && !m.relayed_out() : m.near) {
      return;
    }
    bool const out = inside && !m.near;
    bool const relayed = m.relayed_out() && !inside;
    std::span const fetched = pool_.fetched();
    for (std::size_t i = 0; i < fetched.size(); ++i) {
      tensor const x = fetched[i];
      moved.move(
          region_of(m, x), relayed ? m.exit : m.home,
          relayed ? relay_block(m.exit, x, m.exit_blocks + i) : location::home(m.local), out ? m.exit : m.rank,
          out ? relay_block(m.exit, x, m.exit_blocks + i) : tile_block(m, x, pool_.fetched_block(blocks_of(m), i)));
    }
  }

  [[nodiscard]] region region_of(row_move const& m, tensor x) const {
    tile const& t = tile_of(m);
    return {x, t.segment, t.head_begin, t.head_end, m.tokens};
  }
  [[nodiscard]] tile const& tile_of(row_move const& m) const {
    return pool_.ranks[m.rank.index()].work.tiles[m.tile].what;
  }
  [[nodiscard]] row_blocks const& blocks_of(row_move const& m) const {
    return pool_.ranks[m.rank.index()].blocks[m.tile];
  }
  [[nodiscard]] location tile_block(row_move const& m, tensor x, std::size_t block) const {
    tile const& t = tile_of(m);
    return pool_.in_block(pool_.ranks[m.rank.index()], x, block, m.tokens.begin - t.q_begin, t.head_end - t.head_begin);
  }
  [[nodiscard]] location relay_block(rank_id by, tensor x, std::size_t block) const {
    return pool_.in_block(pool_.ranks[by.index()], x, block, 0);
  }

  void move_keys(round_list& moved, key_move const& m) const {
    for (std::size_t i = 0; i < 2; ++i) {
      moved.move({key_inputs[i], m.segment, m.kv_head, m.kv_head + 1, m.tokens}, m.from,
                 m.local >= 0 ? location::home(m.local) : key_block_of(m.from, m.source, m.source_transit, i, m.tokens),
                 m.to, key_block_of(m.to, m.target, m.target_transit, i, m.tokens));
    }
  }

  [[nodiscard]] location key_block_of(rank_id r, std::size_t number, bool passing, std::size_t i,
                                      row_range tokens) const {
    rank_build const& rank = pool_.ranks[r.index()];
    if (passing) {
      transit const& t = pool_.keys.transits[number];
      return location::workspace(rank.memory.offset(t.blocks[i]) +
                                 (tokens.begin - t.tokens.begin) * pool_.row_bytes(key_inputs[i]));
    }
    panel const& p = rank.work.inputs[number];
    return pool_.in_block(rank, key_inputs[i], p.blocks[i], tokens.begin - p.keys.begin);
  }

  // --- results -----------------------------------------------------------------------------------------------------

  void deliver(std::int32_t d) {
    round_list& moved = moved_;
    for (row_move const& m : pool_.row_moves[static_cast<std::size_t>(d - 1)]) {
      std::span const outputs = row_outputs(pool_.direction);
      for (std::size_t i = 0; i < outputs.size() && m.relayed_back(); ++i) {
        moved.move(region_of(m, outputs[i]), m.entry, relay_block(m.entry, outputs[i], m.entry_blocks + i), m.home,
                   location::home(m.local));
      }
    }
    if (d <= pool_.waves) {
      return_rows(moved, d);
    }
    for (; next_sum_ < sums_.size() && sums_[next_sum_]->round == d; ++next_sum_) {
      collect(moved, *sums_[next_sum_]);
    }
    for (; next_piece_ < pieces_.size() && pieces_[next_piece_].second->round == d; ++next_piece_) {
      send_home(moved, pieces_[next_piece_].first, *pieces_[next_piece_].second);
    }
    close(moved, &skeleton::deliver, d);
  }

  void return_rows(round_list& moved, std::int32_t wave) const {
    std::span const outputs = row_outputs(pool_.direction);
    for (row_move const& m : pool_.row_moves[static_cast<std::size_t>(wave)]) {
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        moved.move(region_of(m, outputs[i]), m.rank, tile_block(m, outputs[i], blocks_of(m).outputs + i), m.entry,
                   m.relayed_back() ? relay_block(m.entry, outputs[i], m.entry_blocks + i) : location::home(m.local));
      }
    }
  }

  void sort_gradients() {
    for (node_sum const& s : pool_.gradients.sums) {
      sums_.push_back(&s);
    }
    for (std::size_t h = 0; h < pool_.gradients.homes.size(); ++h) {
      for (gradient_piece const& piece : pool_.gradients.homes[h]) {
        if (piece.from.index() != h) {
          pieces_.emplace_back(rank_id(h), &piece);
        }
      }
    }
    std::ranges::stable_sort(sums_, {}, [](node_sum const* s) { return s->round; });
    std::ranges::stable_sort(pieces_, {}, [](auto const& p) { return p.second->round; });
  }

  /// Brings the parts of a node sum to the rank that adds them up.
  void collect(round_list& moved, node_sum const& s) const {
    rank_build const& at = pool_.ranks[s.at.index()];
    for (node_sum::part const& p : s.parts) {
      for (std::size_t i = 0; i < 2 && p.from != s.at; ++i) {
        moved.move({partial_sums[i], s.segment, s.kv_head, s.kv_head + 1, s.tokens}, p.from,
                   held_at(p.from, p.panel, p.sum, i, s.tokens.begin), s.at,
                   location::workspace(at.memory.offset(p.blocks[i])));
      }
    }
  }

  void send_home(round_list& moved, rank_id home, gradient_piece const& piece) const {
    for (std::size_t i = 0; i < 2; ++i) {
      tensor const x = (piece.whole ? key_gradients : partial_sums)[i];
      moved.move({x, piece.segment, piece.kv_head, piece.kv_head + 1, piece.tokens}, piece.from, source_of(piece, i),
                 home,
                 piece.whole ? location::home(piece.local)
                             : location::workspace(pool_.ranks[home.index()].memory.offset(piece.blocks[i])));
    }
  }

  /// Where row `token` of a rank's own partial sums lies, in a panel or a sum.
  [[nodiscard]] location held_at(rank_id r, std::size_t number, std::size_t sum, std::size_t i,
                                 std::int64_t token) const {
    rank_build const& rank = pool_.ranks[r.index()];
    if (sum != none) {
      node_sum const& s = pool_.gradients.sums[sum];
      return pool_.in_block(rank, (s.whole ? key_gradients : partial_sums)[i], s.blocks[i], token - s.tokens.begin);
    }
    panel const& p = rank.work.gradients[number];
    return pool_.in_block(rank, partial_sums[i], p.blocks[i], token - p.keys.begin);
  }

 public:
  /// Where the sender of a piece has it.
  [[nodiscard]] location source_of(gradient_piece const& piece, std::size_t i) const {
    return held_at(piece.from, piece.panel, piece.sum, i, piece.tokens.begin);
  }
  /// Where the adding rank of a node sum has one of its parts.
  [[nodiscard]] location part_of(node_sum const& s, node_sum::part const& p, std::size_t i) const {
    if (p.from == s.at) {
      return held_at(p.from, p.panel, p.sum, i, s.tokens.begin);
    }
    return location::workspace(pool_.ranks[s.at.index()].memory.offset(p.blocks[i]));
  }

 private:
  pool_build& pool_;
  round_list moved_;
  std::vector<node_sum const*> sums_;
  std::vector<std::pair<rank_id, gradient_piece const*>> pieces_;
  std::size_t next_sum_{};
  std::size_t next_piece_{};
};

}  // namespace libra::detail
