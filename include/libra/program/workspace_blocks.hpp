#pragma once

#include <libra/program/order.hpp>
#include <libra/program/pool_build.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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
    }
    add_gradients();
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
  /// The last rounds of `deliver` in which a gradient panel is sent, and with whose parts it is added up; -1 for none.
  struct panel_uses {
    static constexpr std::int32_t at_home = std::numeric_limits<std::int32_t>::max();
    std::int32_t sent{-1};
    std::int32_t added{-1};
  };

  [[nodiscard]] kept_inputs const& kept_of(rank_build const& rank) const {
    return pool_.kept[static_cast<std::size_t>(&rank - pool_.ranks.data())];
  }
  [[nodiscard]] static std::size_t op(std::vector<std::size_t> const& by_wave, std::int32_t w) {
    return by_wave[static_cast<std::size_t>(w)];
  }

  /// Notes the first of blocks that follow one another.
  static void note(std::size_t& first, std::size_t number) { first = first == none ? number : first; }

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
      for (tensor const x : row_inputs(pool_.direction)) {
        bool const kept = pool_.keeps() && x == tensor::q;
        note(rank.blocks[i].inputs,
             kept ? rank.memory.fix(kept_of(rank).offset(x, t.what.segment, t.what.head_begin, t.what.q_begin))
                  : rank.memory.add(rows * pool_.row_bytes(x), fetch, attend));
      }
      for (tensor const x : row_outputs(pool_.direction)) {
        note(rank.blocks[i].outputs,
             rank.memory.add(rows * pool_.row_bytes(x), attend, op(rank.steps.deliver, t.wave)));
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
            note(m.exit_blocks, exit.memory.add(rows * pool_.row_bytes(x), op(exit.steps.fetch, near_round(w)),
                                                op(exit.steps.fetch, network_round(w))));
          }
        }
        if (m.relayed_back()) {
          rank_build& entry = pool_.ranks[m.entry.index()];
          for (tensor const x : row_outputs(pool_.direction)) {
            note(m.entry_blocks, entry.memory.add(rows * pool_.row_bytes(x), op(entry.steps.deliver, w),
                                                  op(entry.steps.deliver, w + 1)));
          }
        }
      }
    }
  }

  /// Partial panels live from their clear until everything has been sent, and added up here.
  void add_gradients() {
    std::vector<std::vector<panel_uses>> uses(pool_.ranks.size());
    for (std::size_t r = 0; r < pool_.ranks.size(); ++r) {
      uses[r].resize(pool_.ranks[r].work.gradients.size());
    }
    auto const use = [&](rank_id r, std::size_t number, std::int32_t panel_uses::* round, std::int32_t at) {
      if (number != none) {
        std::int32_t& last = uses[r.index()][number].*round;
        last = std::max(last, at);
      }
    };
    for (node_sum const& s : pool_.gradients.sums) {
      for (node_sum::part const& p : s.parts) {
        use(p.from, p.panel, p.from == s.at ? &panel_uses::added : &panel_uses::sent, s.round);
      }
    }
    for (std::size_t h = 0; h < pool_.gradients.homes.size(); ++h) {
      for (gradient_piece const& g : pool_.gradients.homes[h]) {
        bool const own = g.from.index() == h;
        use(g.from, g.panel, own ? &panel_uses::added : &panel_uses::sent, own ? panel_uses::at_home : g.round);
      }
    }
    for (std::size_t r = 0; r < pool_.ranks.size(); ++r) {
      rank_build& rank = pool_.ranks[r];
      for (std::size_t number = 0; number < rank.work.gradients.size(); ++number) {
        panel& p = rank.work.gradients[number];
        auto const [sent, added] = uses[r][number];
        std::size_t const begin = p.cleared_first() ? rank.steps.clear : op(rank.steps.clear_before, p.first_wave);
        std::size_t const last_added = added == panel_uses::at_home ? rank.steps.reduce
                                       : added >= 0                 ? op(rank.steps.sum, added)
                                                                    : none;
        std::size_t const last_sent = sent >= 0 ? op(rank.steps.deliver, sent) : last_added;
        for (std::size_t& block : p.blocks) {
          block = rank.memory.add(p.keys.size() * pool_.row_bytes(tensor::dk_part), begin, last_sent,
                                  last_added == none ? last_sent : last_added);
        }
      }
    }
  }

  void add_received() {
    for (node_sum& s : pool_.gradients.sums) {
      rank_build& rank = pool_.ranks[s.at.index()];
      std::int64_t const bytes = s.tokens.size() * pool_.row_bytes(s.whole ? tensor::dk : tensor::dk_part);
      std::int64_t const part_bytes = s.tokens.size() * pool_.row_bytes(tensor::dk_part);
      std::size_t const add = op(rank.steps.sum, s.round);
      for (std::size_t i = 0; i < 2; ++i) {
        std::size_t const sent = op(rank.steps.deliver, s.last_sent);
        std::size_t const used = op(rank.steps.sum, s.last_used);
        s.blocks[i] = sent == none   ? rank.memory.add(bytes, add, used)
                      : used == none ? rank.memory.add(bytes, add, sent)
                                     : rank.memory.add(bytes, add, used, sent);
        for (node_sum::part& p : s.parts) {
          if (p.from != s.at) {
            p.blocks[i] = rank.memory.add(part_bytes, op(rank.steps.deliver, s.round), add);
          }
        }
      }
    }
    for (std::size_t h = 0; h < pool_.gradients.homes.size(); ++h) {
      rank_build& home = pool_.ranks[h];
      for (gradient_piece& piece : pool_.gradients.homes[h]) {
        for (std::size_t i = 0; i < 2 && piece.from.index() != h && !piece.whole; ++i) {
          piece.blocks[i] = home.memory.add(piece.tokens.size() * pool_.row_bytes(tensor::dk_part),
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
