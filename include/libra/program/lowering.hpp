#pragma once

#include <libra/program/pool_build.hpp>
#include <libra/program/rounds.hpp>
#include <libra/program/workspace_blocks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace libra {

struct lowering_options {
  element_bytes width{};
  /// Batches that a rank's remote tiles are cut into; the inputs of one travel while another is computed.
  std::int32_t waves{1};
};

namespace detail {

/// Turns one pass of a pool's tiles into the programs of its ranks.
class lowering {
 public:
  lowering(pool_batch const& batch, std::span<tile const> tiles, pass direction, lowering_options const& options)
      : pool_{
            .batch = batch, .direction = direction, .width = options.width, .waves = 0, .ranks = {}, .gradients = {}} {
    validate(options.width);
    require(options.waves >= 1, "waves is ", options.waves, ", expected at least 1");
    std::vector<rank_tiles> grouped = group_by_rank(batch, tiles, options.waves);
    for (rank_tiles const& work : grouped) {
      for (tile_ref const& t : work.tiles) {
        pool_.waves = std::max(pool_.waves, t.wave);
      }
    }
    if (pool_.backward()) {
      join_gradient_panels(batch, grouped);
      pool_.gradients = gradient_pieces_by_home(batch, grouped);
    }
    list_home_rows();
    op_kind const attend = pool_.backward() ? op_kind::attend_backward : op_kind::attend;
    for (std::size_t r = 0; r < grouped.size(); ++r) {
      skeleton::needs const needs = needs_of(grouped[r], r);
      pool_.ranks.emplace_back(std::move(grouped[r]), needs, attend);
    }
  }

  [[nodiscard]] pool_program run() {
    plan_memory(pool_);
    for (std::size_t r = 0; r < pool_.ranks.size(); ++r) {
      emit_home_ops(r);
      emit_tiles(pool_.ranks[r]);
    }
    for (std::int32_t w = 1; w <= pool_.waves; ++w) {
      emit_fetch(pool_, w);
    }
    for (std::int32_t w = 1; w <= pool_.waves; ++w) {
      emit_deliver(pool_, w);
    }
    pool_program result{.direction = pool_.direction, .width = pool_.width, .ranks = {}};
    for (rank_build& rank : pool_.ranks) {
      rank.out.ops = std::move(rank.steps.ops);
      rank.out.workspace_bytes = rank.memory.bytes();
      result.ranks.push_back(std::move(rank.out));
    }
    return result;
  }

 private:
  /// Collects, per rank, the home rows that `row_dot` covers and the padding rows that are cleared.
  void list_home_rows() {
    auto const ranks = static_cast<std::size_t>(pool_.batch.ranks());
    dots_.resize(ranks);
    padding_.resize(ranks);
    std::vector<std::int64_t> used(static_cast<std::size_t>(pool_.batch.slots));
    for (std::size_t s = 0; s < pool_.batch.segments.size(); ++s) {
      placed_segment const& where = pool_.batch.segments[s];
      used[where.slot.index()] = std::max(used[where.slot.index()], where.position + where.what.length);
      if (pool_.backward()) {
        pool_.batch.for_each_home(
            segment_id(s), {0, where.what.length}, [&](rank_id h, row_range tokens, std::int64_t local) {
              dots_[h.index()].push_back(
                  {{tensor::delta, segment_id(s), 0, pool_.batch.shape.q_heads, tokens}, location::home(local)});
            });
      }
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      std::int32_t const c = static_cast<std::int32_t>(r) % pool_.batch.home.cp;
      std::int64_t const begin = pool_.batch.home.shard_begin(c);
      std::int64_t const rows = pool_.batch.home.local_tokens(c);
      padding_[r] = {std::clamp<std::int64_t>(used[r / static_cast<std::size_t>(pool_.batch.home.cp)] - begin, 0, rows),
                     rows};
    }
  }

  [[nodiscard]] skeleton::needs needs_of(rank_tiles const& work, std::size_t r) const {
    skeleton::needs n{.dots = !dots_[r].empty(),
                      .clears = padding_[r].size() > 0,
                      .reduces = false,
                      .waves = pool_.waves,
                      .attends = {}};
    n.attends.resize(static_cast<std::size_t>(pool_.waves) + 1);
    for (tile_ref const& t : work.tiles) {
      n.attends[static_cast<std::size_t>(t.wave)] = true;
      // Backward adds to dk and dv, wherever they are, so something has to be zero first.
      n.clears = n.clears || pool_.backward();
    }
    n.reduces = pool_.backward() && !pool_.gradients[r].empty();
    return n;
  }

  void emit_home_ops(std::size_t r) {
    rank_build& rank = pool_.ranks[r];
    program& out = rank.out;
    if (rank.steps.dot != none) {
      out.dots = dots_[r];
      rank.steps.ops[rank.steps.dot].items = {0, static_cast<std::uint32_t>(out.dots.size())};
    }
    if (rank.steps.clear != none) {
      list_clears(rank, padding_[r]);
      rank.steps.ops[rank.steps.clear].items = {0, static_cast<std::uint32_t>(out.clears.size())};
    }
    if (rank.steps.reduce != none) {
      list_reduces(
          pool_.gradients[r], pool_.row_bytes(tensor::dk),
          [&](gradient_piece const& piece, std::size_t i) {
            if (piece.blocks[i] != none) {
              return rank.memory.offset(piece.blocks[i]);
            }
            panel const& own = rank.work.gradients[piece.panel];
            return rank.memory.offset(own.blocks[i]) +
                   (piece.tokens.begin - own.keys.begin) * pool_.row_bytes(tensor::dk);
          },
          out);
      rank.steps.ops[rank.steps.reduce].items = {0, static_cast<std::uint32_t>(out.reduces.size())};
    }
  }

  void list_clears(rank_build& rank, row_range padding) {
    program& out = rank.out;
    if (padding.size() > 0) {
      auto const clear_rows = [&](tensor t) {
        out.clears.push_back(
            {{t, no_segment, 0, heads_of(t, pool_.batch.shape), padding}, location::home(padding.begin)});
      };
      std::ranges::for_each(row_outputs(pool_.direction), clear_rows);
      if (pool_.backward()) {
        std::ranges::for_each(partial_sums, clear_rows);
      }
    }
    for (panel const& p : rank.work.gradients) {
      for (std::size_t i = 0; i < 2; ++i) {
        out.clears.push_back({{partial_sums[i], p.segment, p.kv_head, p.kv_head + 1, p.keys},
                              location::workspace(rank.memory.offset(p.blocks[i]))});
      }
    }
    for (tile_ref const& t : rank.work.tiles) {
      if (pool_.backward() && t.gradient == none) {
        for (tensor const x : partial_sums) {
          out.clears.push_back({{x, t.what.segment, t.kv_head, t.kv_head + 1, t.keys},
                                pool_.home_location(t.what.segment, t.keys.begin)});
        }
      }
    }
  }

  void emit_tiles(rank_build& rank) {
    for (std::int32_t w = 0; w <= pool_.waves; ++w) {
      std::size_t const at = rank.steps.attend[static_cast<std::size_t>(w)];
      auto const begin = static_cast<std::uint32_t>(rank.out.tiles.size());
      for (std::size_t i = 0; i < rank.work.tiles.size() && at != none; ++i) {
        if (rank.work.tiles[i].wave == w) {
          rank.out.tiles.push_back(task_of(rank, i));
        }
      }
      if (at != none) {
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
    auto const put_rows = [&](tensor x) {
      std::size_t const b = rank.blocks[i][static_cast<std::size_t>(x)];
      task.put(x, b == none ? pool_.home_location(t.what.segment, t.what.q_begin)
                            : location::workspace(rank.memory.offset(b)));
    };
    std::ranges::for_each(row_inputs(pool_.direction), put_rows);
    std::ranges::for_each(row_outputs(pool_.direction), put_rows);
    auto const put_keys = [&](tensor x, panel const* p, std::size_t which) {
      task.put(x, p == nullptr ? pool_.home_location(t.what.segment, t.keys.begin)
                               : location::workspace(rank.memory.offset(p->blocks[which]) +
                                                     (t.keys.begin - p->keys.begin) * pool_.row_bytes(x)));
    };
    for (std::size_t which = 0; which < 2; ++which) {
      put_keys(key_inputs[which], t.panel == none ? nullptr : &rank.work.inputs[t.panel], which);
      if (pool_.backward()) {
        put_keys(partial_sums[which], t.gradient == none ? nullptr : &rank.work.gradients[t.gradient], which);
      }
    }
    return task;
  }

  pool_build pool_;
  /// Shape: `[ranks]`. The home rows that `row_dot` covers, and the padding rows that are cleared.
  std::vector<std::vector<region_task>> dots_;
  std::vector<row_range> padding_;
};

}  // namespace detail

/// Lowers one pass of a dispatched pool to one program per rank.
///
/// Tiles whose rows and keys are all on their rank run first and in place; the others are cut into waves whose inputs
/// come from their home ranks in successive rounds and whose results go back likewise. Backward starts with `delta` at
/// home; partial dk and dv come home in the last round and are summed by rank.
///
/// Pre: the tiles cover every (row, head) once (the verifier proves it of the result). Errors: `input_error` for a tile
/// outside its segment or pool. Complexity: O(n log n) in the tiles plus linear in the transfers.
[[nodiscard]] inline pool_program lower(pool_batch const& batch, std::span<tile const> tiles, pass direction,
                                        lowering_options const& options = {}) {
  return detail::lowering(batch, tiles, direction, options).run();
}

}  // namespace libra
