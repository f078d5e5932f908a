#pragma once

#include <libra/core/indices_by.hpp>
#include <libra/program/gradient_entries.hpp>
#include <libra/program/gradients.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/key_router.hpp>
#include <libra/program/lowering_options.hpp>
#include <libra/program/pool_build.hpp>
#include <libra/program/rounds.hpp>
#include <libra/program/waves.hpp>
#include <libra/program/whole_gradients.hpp>
#include <libra/program/workspace_blocks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace libra::detail {

/// Turns one pass of a pool's tiles into the programs of its ranks; every tile's rank gathers all keys of its rows.
class gather_lowering {
 public:
  gather_lowering(pool_batch const& batch, std::span<tile const> tiles, pass direction, lowering_options const& options)
      : pool_{.batch = batch,
              .nodes = node_map(batch, options.ranks_per_node, options.groups_apart),
              .direction = direction,
              .width = options.width} {
    require(options.waves >= 1, "waves is ", options.waves, ", expected at least 1");
    require(options.alive_waves >= least_alive_waves, "alive_waves is ", options.alive_waves, ", expected at least ",
            least_alive_waves);
    std::vector<rank_tiles> grouped =
        wave_cutter(batch, pool_.nodes, direction, options.width, options.waves, options.keep_inputs)(tiles);
    if (options.keep_inputs) {
      pool_.kept = list_kept_inputs(batch, tiles, options.width);
    }
    bool const moves = std::ranges::any_of(grouped, [](rank_tiles const& work) {
      return std::ranges::any_of(work.tiles, [](tile_ref const& t) { return !t.local(); });
    });
    pool_.waves = moves ? options.waves : 0;
    for (rank_tiles& work : grouped) {
      if (!moves) {
        std::ranges::for_each(work.tiles, [](tile_ref& t) { t.wave = 0; });
      }
      work.inputs = join_panels(
          work.tiles, [](tile_ref const& t) { return !t.keys_home; }, [](tile_ref& t, std::size_t p) { t.panel = p; });
    }
    if (!pool_.backward() || !pool_.keeps()) {
      std::int64_t const key_bytes = 2 * pool_.row_bytes(tensor::k);
      pool_.keys = key_router(batch, pool_.nodes, grouped, options.spread_bytes / key_bytes)(pool_.waves);
    }
    if (pool_.backward()) {
      join_gradient_panels(batch, grouped);
      std::int64_t const sum_bytes = 2 * pool_.row_bytes(tensor::dk_part);
      std::int64_t const least_tokens = options.spread_bytes / sum_bytes;
      pool_.gradients = gradient_router(batch, pool_.nodes, grouped, least_tokens)();
      whole_gradients(pool_.nodes, least_tokens, pool_.gradients)();
      gradient_entries(pool_.nodes, least_tokens, pool_.gradients)();
    }
    sums_of_.resize(grouped.size());
    for (std::size_t s = 0; s < pool_.gradients.sums.size(); ++s) {
      sums_of_[pool_.gradients.sums[s].at.index()].push_back(s);
      late_ = std::max(late_, pool_.gradients.sums[s].round + 1 - pool_.waves);
    }
    pool_.row_moves = row_router(batch, pool_.nodes, grouped, direction, options.width, options.spread_bytes,
                                 pool_.keeps())(pool_.waves, pool_.keys, pool_.gradients);
    if (std::ranges::any_of(pool_.row_moves[static_cast<std::size_t>(pool_.waves)], &row_move::relayed_back)) {
      late_ = std::max(late_, 1);
    }
    list_fetch_rounds();
    home_ = list_home_tasks(batch, direction);
    op_kind const attend = pool_.backward() ? op_kind::attend_backward : op_kind::attend;
    for (std::size_t r = 0; r < grouped.size(); ++r) {
      skeleton::needs const needs = needs_of(grouped[r], r, options.alive_waves);
      pool_.ranks.emplace_back(std::move(grouped[r]), needs, attend);
    }
  }

  [[nodiscard]] pool_program run() {
    plan_memory(pool_);
    round_writer rounds(pool_);
    for (std::size_t r = 0; r < pool_.ranks.size(); ++r) {
      emit_home_ops(r, rounds);
      emit_tiles(pool_.ranks[r]);
    }
    emit_node_sums(rounds);
    rounds();
    pool_program result{.direction = pool_.direction, .width = pool_.width, .ranks = {}};
    for (std::size_t r = 0; r < pool_.ranks.size(); ++r) {
      rank_build& rank = pool_.ranks[r];
      rank.out.ops = std::move(rank.steps.ops);
      rank.out.workspace_bytes = rank.memory.bytes();
      if (pool_.keeps()) {
        rank.out.kept = pool_.kept[r].regions();
        rank.out.kept_bytes = pool_.kept[r].bytes();
      }
      result.ranks.push_back(std::move(rank.out));
    }
    return result;
  }

 private:
  /// Which rounds of fetch bring something to anyone, and for each rank the last that its waves need.
  void list_fetch_rounds() {
    rounds_.assign(static_cast<std::size_t>(fetch_rounds(pool_.waves)), false);
    after_.assign(static_cast<std::size_t>(pool_.batch.ranks()),
                  std::vector<std::int32_t>(static_cast<std::size_t>(wave_numbers{pool_.waves}.count()), -1));
    auto const need = [&](rank_id r, std::int32_t wave, std::int32_t round) {
      rounds_[static_cast<std::size_t>(round)] = true;
      std::int32_t& last = after_[r.index()][static_cast<std::size_t>(wave)];
      last = std::max(last, round);
    };
    for (key_move const& m : pool_.keys.moves) {
      rounds_[static_cast<std::size_t>(m.round)] = true;
      if (!m.target_transit) {
        need(m.to, m.wave, m.round);
      }
    }
    for (std::int32_t w = 1; w <= pool_.waves; ++w) {
      for (row_move const& m : pool_.row_moves[static_cast<std::size_t>(w)]) {
        need(m.rank, w, m.near ? near_round(w) : network_round(w));
        if (m.relayed_out()) {
          rounds_[static_cast<std::size_t>(near_round(w))] = true;
        }
      }
    }
  }

  [[nodiscard]] skeleton::needs needs_of(rank_tiles const& work, std::size_t r, std::int32_t alive) const {
    auto const waves = static_cast<std::size_t>(wave_numbers{pool_.waves}.count());
    skeleton::needs n{
        .dots = !home_.dots[r].empty(),
        .clears = home_.padding[r].size() > 0,
        .reduces = pool_.backward() &&
                   std::ranges::any_of(pool_.gradients.homes[r], [](gradient_piece const& g) { return !g.whole; }),
        .waves = pool_.waves,
        .alive = alive,
        .late = late_,
        .rounds = rounds_,
        .attends = std::vector<bool>(waves),
        .clears_before = std::vector<bool>(waves),
        .after = after_[r],
        .sums = std::vector<bool>(waves)};
    for (tile_ref const& t : work.tiles) {
      n.attends[static_cast<std::size_t>(t.wave)] = true;
      // Backward adds to dk and dv, wherever they are, so these have to be zero first.
      n.clears = n.clears || (pool_.backward() && t.gradient == none);
    }
    for (panel const& p : work.gradients) {
      auto const wave = static_cast<std::size_t>(p.first_wave);
      n.clears = n.clears || p.cleared_first();
      n.clears_before[wave] = n.clears_before[wave] || !p.cleared_first();
    }
    for (std::size_t const s : sums_of_[r]) {
      n.sums[static_cast<std::size_t>(pool_.gradients.sums[s].round)] = true;
    }
    return n;
  }

  void emit_home_ops(std::size_t r, round_writer const& rounds) {
    rank_build& rank = pool_.ranks[r];
    program& out = rank.out;
    if (rank.steps.dot != none) {
      out.dots = home_.dots[r];
      rank.steps.ops[rank.steps.dot].items = {0, static_cast<std::uint32_t>(out.dots.size())};
    }
    if (rank.steps.clear != none) {
      list_clears(rank, home_.padding[r]);
      rank.steps.ops[rank.steps.clear].items = {0, static_cast<std::uint32_t>(out.clears.size())};
    }
    for (std::size_t wave = 0; wave < rank.steps.clear_before.size(); ++wave) {
      if (std::size_t const clear = rank.steps.clear_before[wave]; clear != none) {
        auto const begin = static_cast<std::uint32_t>(out.clears.size());
        clear_panels(rank, [&](panel const& p) {
          return !p.cleared_first() && p.first_wave == static_cast<std::int32_t>(wave);
        });
        rank.steps.ops[clear].items = {begin, static_cast<std::uint32_t>(out.clears.size())};
      }
    }
    if (rank.steps.reduce != none) {
      list_reduces(
          pool_.gradients.homes[r], pool_.row_bytes(tensor::dk_part),
          [&](gradient_piece const& piece, std::size_t i) {
            return piece.blocks[i] != none ? rank.memory.offset(piece.blocks[i]) : rounds.source_of(piece, i).byte();
          },
          out);
      rank.steps.ops[rank.steps.reduce].items = {0, static_cast<std::uint32_t>(out.reduces.size())};
    }
  }

  void list_clears(rank_build& rank, row_range padding) {
    program& out = rank.out;
    clear_padding(pool_.batch.shape, pool_.direction, padding, out.clears);
    clear_panels(rank, [](panel const& p) { return p.cleared_first(); });
    for (tile_ref const& t : rank.work.tiles) {
      if (pool_.backward() && t.gradient == none) {
        for (tensor const x : key_gradients) {
          out.clears.push_back({{x, t.what.segment, t.kv_head, t.kv_head + 1, t.keys},
                                home_location(pool_.batch, t.what.segment, t.keys.begin)});
        }
      }
    }
  }

  template <class Which>
  void clear_panels(rank_build& rank, Which which) const {
    for (panel const& p : rank.work.gradients) {
      for (std::size_t i = 0; i < 2 && which(p); ++i) {
        rank.out.clears.push_back({{partial_sums[i], p.segment, p.kv_head, p.kv_head + 1, p.keys},
                                   location::workspace(rank.memory.offset(p.blocks[i]))});
      }
    }
  }

  void emit_node_sums(round_writer const& rounds) {
    for (std::size_t r = 0; r < pool_.ranks.size(); ++r) {
      rank_build& rank = pool_.ranks[r];
      std::vector<std::size_t> const& sums = sums_of_[r];
      auto const by_round = indices_by(sums.size(), rank.steps.sum.size(), [&](std::size_t i) {
        return static_cast<std::size_t>(pool_.gradients.sums[sums[i]].round);
      });
      for (std::size_t round = 0; round < by_round.size(); ++round) {
        if (std::size_t const op = rank.steps.sum[round]; op != none) {
          auto const begin = static_cast<std::uint32_t>(rank.out.reduces.size());
          for (std::uint32_t const i : by_round[round]) {
            add_up(rounds, pool_.gradients.sums[sums[i]], rank.out);
          }
          rank.steps.ops[op].items = {begin, static_cast<std::uint32_t>(rank.out.reduces.size())};
        }
      }
    }
  }

  void add_up(round_writer const& rounds, node_sum const& s, program& out) const {
    for (std::size_t i = 0; i < 2; ++i) {
      auto const first = static_cast<std::uint32_t>(out.partials.size());
      for (node_sum::part const& p : s.parts) {
        out.partials.push_back(rounds.part_of(s, p, i));
      }
      tensor const x = (s.whole ? key_gradients : partial_sums)[i];
      out.reduces.push_back({{x, s.segment, s.kv_head, s.kv_head + 1, s.tokens},
                             location::workspace(pool_.ranks[s.at.index()].memory.offset(s.blocks[i])),
                             first,
                             static_cast<std::uint32_t>(out.partials.size())});
    }
  }

  void emit_tiles(rank_build& rank) {
    auto const by_wave = indices_by(rank.work.tiles.size(), rank.steps.attend.size(),
                                    [&](std::size_t i) { return static_cast<std::size_t>(rank.work.tiles[i].wave); });
    rank.out.tiles.reserve(rank.work.tiles.size());
    for (std::size_t wave = 0; wave < by_wave.size(); ++wave) {
      if (std::size_t const at = rank.steps.attend[wave]; at != none) {
        auto const begin = static_cast<std::uint32_t>(rank.out.tiles.size());
        for (std::uint32_t const i : by_wave[wave]) {
          rank.out.tiles.push_back(task_of(rank, i));
        }
        rank.steps.ops[at].items = {begin, static_cast<std::uint32_t>(rank.out.tiles.size())};
      }
    }
  }

  [[nodiscard]] tile_task task_of(rank_build const& rank, std::size_t i) const {
    tile_ref const& t = rank.work.tiles[i];
    tile_task task{.segment = t.what.segment,
                   .head_begin = t.what.head_begin,
                   .head_end = t.what.head_end,
                   .rows = {t.what.q_begin, t.what.q_end},
                   .keys = t.keys};
    location const rows_at = t.rows_home ? home_location(pool_.batch, t.what.segment, t.what.q_begin) : location{};
    location const keys_at = t.panel == none || (pool_.backward() && t.gradient == none)
                                 ? home_location(pool_.batch, t.what.segment, t.keys.begin)
                                 : location{};
    auto const put_rows = [&](std::span<tensor const> tensors, std::size_t first) {
      for (std::size_t n = 0; n < tensors.size(); ++n) {
        task.put(tensors[n], first == none ? rows_at : pool_.in_block(rank, tensors[n], first + n, 0));
      }
    };
    put_rows(row_inputs(pool_.direction), rank.blocks[i].inputs);
    put_rows(row_outputs(pool_.direction), rank.blocks[i].outputs);
    auto const put_keys = [&](tensor x, panel const* p, std::size_t which) {
      task.put(x, p == nullptr ? keys_at : pool_.in_block(rank, x, p->blocks[which], t.keys.begin - p->keys.begin));
    };
    for (std::size_t which = 0; which < 2; ++which) {
      put_keys(key_inputs[which], t.panel == none ? nullptr : &rank.work.inputs[t.panel], which);
      if (pool_.backward()) {
        panel const* const sums = t.gradient == none ? nullptr : &rank.work.gradients[t.gradient];
        put_keys((sums == nullptr ? key_gradients : partial_sums)[which], sums, which);
      }
    }
    return task;
  }

  pool_build pool_;
  home_tasks home_;
  /// Shape: `[fetch_rounds]`, and `[ranks, waves + 4]`.
  std::vector<bool> rounds_;
  std::vector<std::vector<std::int32_t>> after_;
  /// Shape: `[ranks]`. The node sums that a rank takes; and how many rounds after the last wave's take some home.
  std::vector<std::vector<std::size_t>> sums_of_;
  std::int32_t late_{};
};

}  // namespace libra::detail
