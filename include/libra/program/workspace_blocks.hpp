#pragma once

#include <libra/program/order.hpp>
#include <libra/program/pool_build.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra::detail {

/// Lays out every rank's memory: what lives from which op to which.
class block_planner {
 public:
  explicit block_planner(pool_build& pool) : pool_(pool) {}

  /// Pre: the skeletons and the routes are there.
  void operator()() {
    for (rank_build& rank : pool_.ranks) {
      if (pool_.keeps()) {
        rank.memory.reserve(kept_of(rank).bytes());
      }
      add_panels(rank);
      add_rows(rank);
      add_gradients(rank);
    }
    for (transit& t : pool_.keys.transits) {
      rank_build& rank = pool_.ranks[t.rank.index()];
      for (std::size_t i = 0; i < 2; ++i) {
        t.blocks[i] = rank.memory.add(t.tokens.size() * pool_.row_bytes(key_inputs[i]), op(rank.steps.fetch, t.round),
                                      op(rank.steps.fetch, t.last));
      }
    }
    add_relayed_rows();
    add_received();
    for (rank_build& rank : pool_.ranks) {
      rank.memory.place(op_order(rank.steps.ops));
    }
  }

 private:
  [[nodiscard]] kept_inputs const& kept_of(rank_build const& rank) const {
    return pool_.kept[static_cast<std::size_t>(&rank - pool_.ranks.data())];
  }
  [[nodiscard]] static std::size_t op(std::vector<std::size_t> const& by_wave, std::int32_t w) {
    return by_wave[static_cast<std::size_t>(w)];
  }

  void add_panels(rank_build& rank) {
    for (panel& p : rank.work.inputs) {
      if (pool_.keeps()) {
        for (std::size_t i = 0; i < 2; ++i) {
          p.blocks[i] = rank.memory.fix(kept_of(rank).offset(key_inputs[i], p.segment, p.kv_head, p.keys.begin));
        }
        continue;
      }
      std::size_t const last = op(rank.steps.attend, p.last_wave);
      std::size_t const passing = p.last_round > 0 ? op(rank.steps.fetch, p.last_round) : last;
      for (std::size_t i = 0; i < 2; ++i) {
        p.blocks[i] = rank.memory.add(p.keys.size() * pool_.row_bytes(key_inputs[i]),
                                      op(rank.steps.fetch, p.first_round), last, passing);
      }
    }
  }

  void add_rows(rank_build& rank) {
    for (std::size_t i = 0; i < rank.work.tiles.size(); ++i) {
      tile_ref const& t = rank.work.tiles[i];
      if (t.rows_home) {
        continue;
      }
      std::int64_t const rows = (t.what.q_end - t.what.q_begin) * (t.what.head_end - t.what.head_begin);
      std::size_t const fetch = rank.steps.fetch_from(near_round(t.wave));
      std::size_t const attend = op(rank.steps.attend, t.wave);
      for (tensor const x : pool_.fetched()) {
        rank.blocks[i][static_cast<std::size_t>(x)] = rank.memory.add(rows * pool_.row_bytes(x), fetch, attend);
      }
      if (pool_.keeps()) {
        rank.blocks[i][static_cast<std::size_t>(tensor::q)] =
            rank.memory.fix(kept_of(rank).offset(tensor::q, t.what.segment, t.what.head_begin, t.what.q_begin));
      }
      for (tensor const x : row_outputs(pool_.direction)) {
        rank.blocks[i][static_cast<std::size_t>(x)] =
            rank.memory.add(rows * pool_.row_bytes(x), attend, op(rank.steps.deliver, t.wave));
      }
    }
  }

  /// Rows that pass through a neighbour of their home wait there for the round after.
  void add_relayed_rows() {
    for (std::int32_t w = 1; w <= pool_.waves; ++w) {
      for (row_move& m : pool_.row_moves[static_cast<std::size_t>(w)]) {
        tile const& t = pool_.ranks[m.rank.index()].work.tiles[m.tile].what;
        std::int64_t const rows = m.tokens.size() * (t.head_end - t.head_begin);
        if (m.relayed_out()) {
          rank_build& exit = pool_.ranks[m.exit.index()];
          for (tensor const x : pool_.fetched()) {
            m.blocks[static_cast<std::size_t>(x)] = exit.memory.add(
                rows * pool_.row_bytes(x), op(exit.steps.fetch, near_round(w)), op(exit.steps.fetch, network_round(w)));
          }
        }
        if (m.relayed_back()) {
          rank_build& entry = pool_.ranks[m.entry.index()];
          for (tensor const x : row_outputs(pool_.direction)) {
            m.blocks[static_cast<std::size_t>(x)] =
                entry.memory.add(rows * pool_.row_bytes(x), op(entry.steps.deliver, w), op(entry.steps.deliver, w + 1));
          }
        }
      }
    }
  }

  /// Partial panels live from the first clear until everything has been sent, and added up here.
  void add_gradients(rank_build& rank) {
    std::size_t const sent = rank.steps.last_deliver();
    std::size_t const last = rank.steps.reduce != none ? rank.steps.reduce : sent;
    for (panel& p : rank.work.gradients) {
      for (std::size_t& block : p.blocks) {
        block = rank.memory.add(p.keys.size() * pool_.row_bytes(tensor::dk), rank.steps.clear, last,
                                sent != none ? sent : last);
      }
    }
  }

  void add_received() {
    for (node_sum& s : pool_.gradients.sums) {
      rank_build& rank = pool_.ranks[s.at.index()];
      std::int64_t const bytes = s.tokens.size() * pool_.row_bytes(tensor::dk);
      std::size_t const add = op(rank.steps.sums(s.between_nodes), s.round);
      for (std::size_t i = 0; i < 2; ++i) {
        std::size_t const sent = op(rank.steps.deliver, s.last_sent);
        std::size_t const used = op(rank.steps.join, s.last_used);
        s.blocks[i] = sent == none   ? rank.memory.add(bytes, add, used)
                      : used == none ? rank.memory.add(bytes, add, sent)
                                     : rank.memory.add(bytes, add, used, sent);
        for (node_sum::part& p : s.parts) {
          if (p.from != s.at) {
            p.blocks[i] = rank.memory.add(bytes, op(rank.steps.deliver, s.round), add);
          }
        }
      }
    }
    for (std::size_t h = 0; h < pool_.gradients.homes.size(); ++h) {
      rank_build& home = pool_.ranks[h];
      for (gradient_piece& piece : pool_.gradients.homes[h]) {
        for (std::size_t i = 0; i < 2 && piece.from.index() != h; ++i) {
          piece.blocks[i] = home.memory.add(piece.tokens.size() * pool_.row_bytes(tensor::dk),
                                            op(home.steps.deliver, piece.round), home.steps.reduce);
        }
      }
    }
  }

  pool_build& pool_;
};

inline void plan_memory(pool_build& pool) {
  block_planner planner(pool);
  planner();
}

}  // namespace libra::detail
