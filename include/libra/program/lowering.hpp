#pragma once

#include <libra/program/gradients.hpp>
#include <libra/program/memory_plan.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/panels.hpp>
#include <libra/program/skeleton.hpp>

#include <algorithm>
#include <array>
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
      : batch_(batch), shape_(batch.shape), direction_(direction), width_(options.width) {
    require(options.waves >= 1, "waves is ", options.waves, ", expected at least 1");
    std::vector<rank_tiles> grouped = group_by_rank(batch, tiles, options.waves);
    for (rank_tiles& work : grouped) {
      for (tile_ref const& t : work.tiles) {
        waves_ = std::max(waves_, t.wave);
      }
    }
    if (backward()) {
      join_gradient_panels(batch, grouped);
      gradients_ = gradient_pieces_by_home(batch, grouped);
    }
    list_home_rows();
    for (std::size_t r = 0; r < grouped.size(); ++r) {
      ranks_.emplace_back(std::move(grouped[r]), needs_of(grouped[r], r), attend_kind());
    }
  }

  [[nodiscard]] pool_program run() {
    plan_memory();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      emit_home_ops(r);
      emit_tiles(r);
    }
    for (std::int32_t w = 1; w <= waves_; ++w) {
      emit_fetch(w);
    }
    for (std::int32_t w = 1; w <= waves_; ++w) {
      emit_deliver(w);
    }
    pool_program result{.direction = direction_, .width = width_, .ranks = {}};
    for (rank_state& rank : ranks_) {
      rank.out.ops = std::move(rank.steps.ops);
      rank.out.workspace_bytes = rank.memory.bytes();
      result.ranks.push_back(std::move(rank.out));
    }
    return result;
  }

 private:
  struct rank_state {
    rank_state(rank_tiles&& tiles, skeleton::needs const& needs, op_kind attend_kind)
        : work(std::move(tiles)), steps(needs, attend_kind), blocks(work.tiles.size()) {
      for (auto& b : blocks) {
        b.fill(none);
      }
    }

    rank_tiles work;
    skeleton steps;
    memory_plan memory;
    program out;
    /// Shape: `[tiles]`. The workspace blocks of a tile's own operands.
    std::vector<std::array<std::size_t, tensor_count>> blocks;
  };

  [[nodiscard]] bool backward() const noexcept { return direction_ == pass::backward; }
  [[nodiscard]] op_kind attend_kind() const noexcept { return backward() ? op_kind::attend_backward : op_kind::attend; }
  [[nodiscard]] std::span<tensor const> row_inputs() const noexcept {
    static constexpr std::array forward{tensor::q};
    static constexpr std::array backward{tensor::q, tensor::d_o, tensor::lse, tensor::delta};
    return direction_ == pass::backward ? std::span<tensor const>(backward) : std::span<tensor const>(forward);
  }
  [[nodiscard]] std::span<tensor const> row_outputs() const noexcept {
    static constexpr std::array forward{tensor::o, tensor::lse};
    static constexpr std::array backward{tensor::dq};
    return direction_ == pass::backward ? std::span<tensor const>(backward) : std::span<tensor const>(forward);
  }
  static constexpr std::array key_inputs{tensor::k, tensor::v};

  [[nodiscard]] std::int64_t row_bytes(tensor t) const noexcept { return wire_row_bytes(t, shape_, width_); }

  /// Collects, per rank, the home rows that `row_dot` covers and the padding rows that are cleared.
  void list_home_rows() {
    auto const ranks = static_cast<std::size_t>(batch_.ranks());
    dots_.resize(ranks);
    padding_.resize(ranks);
    std::vector<std::int64_t> used(static_cast<std::size_t>(batch_.slots));
    for (std::size_t s = 0; s < batch_.segments.size(); ++s) {
      placed_segment const& where = batch_.segments[s];
      used[where.slot.index()] = std::max(used[where.slot.index()], where.position + where.what.length);
      if (backward()) {
        batch_.for_each_home(segment_id(s), {0, where.what.length}, [&](rank_id h, row_range tokens, std::int64_t local) {
          dots_[h.index()].push_back(
              {{tensor::delta, segment_id(s), 0, shape_.q_heads, tokens}, location::home(local)});
        });
      }
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      std::int32_t const c = static_cast<std::int32_t>(r) % batch_.home.cp;
      std::int64_t const begin = batch_.home.shard_begin(c);
      std::int64_t const rows = batch_.home.local_tokens(c);
      padding_[r] = {std::clamp<std::int64_t>(used[r / static_cast<std::size_t>(batch_.home.cp)] - begin, 0, rows), rows};
    }
  }

  [[nodiscard]] skeleton::needs needs_of(rank_tiles const& work, std::size_t r) const {
    skeleton::needs n{.dots = !dots_[r].empty(), .clears = padding_[r].size() > 0, .reduces = false, .waves = waves_, .attends = {}};
    n.attends.resize(static_cast<std::size_t>(waves_) + 1);
    for (tile_ref const& t : work.tiles) {
      n.attends[static_cast<std::size_t>(t.wave)] = true;
      // Backward adds to dk and dv, wherever they are, so something has to be zero first.
      n.clears = n.clears || backward();
    }
    n.reduces = backward() && !gradients_[r].empty();
    return n;
  }

  void plan_memory() {
    for (rank_state& rank : ranks_) {
      add_tile_blocks(rank);
    }
    add_received_partials();
    for (rank_state& rank : ranks_) {
      rank.memory.place(op_order(rank.steps.ops));
    }
  }

  void add_tile_blocks(rank_state& rank) {
    auto const wave_of = [](std::vector<std::size_t> const& by_wave, std::int32_t w) {
      return by_wave[static_cast<std::size_t>(w)];
    };
    skeleton const& steps = rank.steps;
    rank.work.inputs = join_panels(
        rank.work.tiles, [](tile_ref const& t) { return !t.keys_home; }, [](tile_ref& t, std::size_t p) { t.panel = p; });
    for (panel& p : rank.work.inputs) {
      for (std::size_t i = 0; i < 2; ++i) {
        p.blocks[i] = rank.memory.add(p.keys.size() * row_bytes(key_inputs[i]), wave_of(steps.fetch, p.first_wave),
                                      wave_of(steps.attend, p.last_wave));
      }
    }
    for (std::size_t i = 0; i < rank.work.tiles.size(); ++i) {
      tile_ref const& t = rank.work.tiles[i];
      if (t.rows_home) {
        continue;
      }
      std::int64_t const rows = (t.what.q_end - t.what.q_begin) * (t.what.head_end - t.what.head_begin);
      for (tensor const x : row_inputs()) {
        rank.blocks[i][static_cast<std::size_t>(x)] =
            rank.memory.add(rows * row_bytes(x), wave_of(steps.fetch, t.wave), wave_of(steps.attend, t.wave));
      }
      for (tensor const x : row_outputs()) {
        rank.blocks[i][static_cast<std::size_t>(x)] =
            rank.memory.add(rows * row_bytes(x), wave_of(steps.attend, t.wave), wave_of(steps.deliver, t.wave));
      }
    }
    for (panel& p : rank.work.gradients) {
      for (std::size_t i = 0; i < 2; ++i) {
        std::size_t const last = steps.reduce != none ? steps.reduce : steps.deliver.back();
        p.blocks[i] = rank.memory.add(p.keys.size() * row_bytes(tensor::dk), steps.clear, last);
      }
    }
  }

  void add_received_partials() {
    for (std::size_t h = 0; h < gradients_.size(); ++h) {
      rank_state& home = ranks_[h];
      for (gradient_piece& piece : gradients_[h]) {
        for (std::size_t i = 0; i < 2 && piece.from.index() != h; ++i) {
          piece.blocks[i] = home.memory.add(piece.tokens.size() * row_bytes(tensor::dk), home.steps.deliver.back(),
                                            home.steps.reduce);
        }
      }
    }
  }

  void emit_home_ops(std::size_t r) {
    rank_state& rank = ranks_[r];
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
      list_reduces(gradients_[r], row_bytes(tensor::dk), [&](gradient_piece const& piece, std::size_t i) {
        if (piece.blocks[i] != none) {
          return rank.memory.offset(piece.blocks[i]);
        }
        panel const& own = rank.work.gradients[piece.panel];
        return rank.memory.offset(own.blocks[i]) + (piece.tokens.begin - own.keys.begin) * row_bytes(tensor::dk);
      }, out);
      rank.steps.ops[rank.steps.reduce].items = {0, static_cast<std::uint32_t>(out.reduces.size())};
    }
  }

  void list_clears(rank_state& rank, row_range padding) {
    program& out = rank.out;
    if (padding.size() > 0) {
      auto const clear_rows = [&](tensor t) {
        out.clears.push_back({{t, no_segment, 0, heads_of(t, shape_), padding}, location::home(padding.begin)});
      };
      std::ranges::for_each(row_outputs(), clear_rows);
      if (backward()) {
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
      if (backward() && t.gradient == none) {
        for (tensor const x : partial_sums) {
          out.clears.push_back(
              {{x, t.what.segment, t.kv_head, t.kv_head + 1, t.keys}, home_location(t.what.segment, t.keys.begin)});
        }
      }
    }
  }

  /// The local row of a token on its home rank.
  [[nodiscard]] location home_location(segment_id s, std::int64_t token) const {
    location at;
    batch_.for_each_home(s, {token, token + 1}, [&](rank_id, row_range, std::int64_t local) { at = location::home(local); });
    return at;
  }

  void emit_tiles(std::size_t r) {
    rank_state& rank = ranks_[r];
    for (std::int32_t w = 0; w <= waves_; ++w) {
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

  [[nodiscard]] tile_task task_of(rank_state const& rank, std::size_t i) const {
    tile_ref const& t = rank.work.tiles[i];
    tile_task task{.segment = t.what.segment,
                   .head_begin = t.what.head_begin,
                   .head_end = t.what.head_end,
                   .rows = {t.what.q_begin, t.what.q_end},
                   .keys = t.keys};
    auto const put_rows = [&](tensor x) {
      std::size_t const b = rank.blocks[i][static_cast<std::size_t>(x)];
      task.put(x, b == none ? home_location(t.what.segment, t.what.q_begin) : location::workspace(rank.memory.offset(b)));
    };
    std::ranges::for_each(row_inputs(), put_rows);
    std::ranges::for_each(row_outputs(), put_rows);
    auto const put_keys = [&](tensor x, panel const* p, std::size_t which) {
      task.put(x, p == nullptr ? home_location(t.what.segment, t.keys.begin)
                               : location::workspace(rank.memory.offset(p->blocks[which]) +
                                                     (t.keys.begin - p->keys.begin) * row_bytes(x)));
    };
    for (std::size_t which = 0; which < 2; ++which) {
      put_keys(key_inputs[which], t.panel == none ? nullptr : &rank.work.inputs[t.panel], which);
      if (backward()) {
        put_keys(partial_sums[which], t.gradient == none ? nullptr : &rank.work.gradients[t.gradient], which);
      }
    }
    return task;
  }

  /// Lists every transfer of one exchange at both of its ends, then closes the op's slices.
  class round {
   public:
    explicit round(std::size_t ranks) : sends_(ranks), receives_(ranks) {}

    void move(region const& what, rank_id from, location at_source, rank_id to, location at_target) {
      sends_[from.index()].push_back({what, to, at_source});
      receives_[to.index()].push_back({what, from, at_target});
    }
    void close(std::size_t r, op& o, program& out) {
      o.items = append(out.sends, sends_[r]);
      o.receives = append(out.receives, receives_[r]);
    }

   private:
    static item_range append(std::vector<transfer>& all, std::vector<transfer> const& more) {
      auto const begin = static_cast<std::uint32_t>(all.size());
      all.insert(all.end(), more.begin(), more.end());
      return {begin, static_cast<std::uint32_t>(all.size())};
    }
    std::vector<std::vector<transfer>> sends_;
    std::vector<std::vector<transfer>> receives_;
  };

  void close(round& moved, std::vector<std::size_t> skeleton::* which, std::int32_t w) {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      skeleton& steps = ranks_[r].steps;
      moved.close(r, steps.ops[(steps.*which)[static_cast<std::size_t>(w)]], ranks_[r].out);
    }
  }

  /// Brings the rows of `what` from their homes into a dense block at `base` whose first row is token `block_begin`.
  void bring(round& moved, rank_id to, region const& what, std::int64_t base, std::int64_t block_begin) const {
    std::int64_t const bytes = what.heads() * row_bytes(what.what);
    batch_.for_each_home(what.segment, what.tokens, [&](rank_id home, row_range tokens, std::int64_t local) {
      region piece = what;
      piece.tokens = tokens;
      moved.move(piece, home, location::home(local), to, location::workspace(base + (tokens.begin - block_begin) * bytes));
    });
  }

  void emit_fetch(std::int32_t w) {
    round moved(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      rank_state& rank = ranks_[r];
      for (std::size_t i = 0; i < rank.work.tiles.size(); ++i) {
        tile_ref const& t = rank.work.tiles[i];
        if (t.wave != w) {
          continue;
        }
        if (!t.rows_home) {
          for (tensor const x : row_inputs()) {
            bring(moved, rank_id(r), {x, t.what.segment, t.what.head_begin, t.what.head_end, {t.what.q_begin, t.what.q_end}},
                  rank.memory.offset(rank.blocks[i][static_cast<std::size_t>(x)]), t.what.q_begin);
          }
        }
        if (t.panel != none) {
          fetch_keys(moved, rank_id(r), rank.work.inputs[t.panel], t.keys);
        }
      }
    }
    close(moved, &skeleton::fetch, w);
  }

  /// Brings the keys and values of `wanted` that earlier tiles have not brought into the panel yet.
  void fetch_keys(round& moved, rank_id to, panel& p, row_range wanted) {
    auto const fetch = [&](row_range keys) {
      for (std::size_t i = 0; i < 2 && keys.size() > 0; ++i) {
        bring(moved, to, {key_inputs[i], p.segment, p.kv_head, p.kv_head + 1, keys},
              ranks_[to.index()].memory.offset(p.blocks[i]), p.keys.begin);
      }
    };
    if (p.present.size() == 0) {
      fetch(wanted);
      p.present = wanted;
      return;
    }
    fetch({wanted.begin, std::max(wanted.begin, p.present.begin)});
    fetch({std::min(wanted.end, p.present.end), wanted.end});
    p.present = {std::min(p.present.begin, wanted.begin), std::max(p.present.end, wanted.end)};
  }

  void emit_deliver(std::int32_t w) {
    round moved(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      rank_state& rank = ranks_[r];
      for (std::size_t i = 0; i < rank.work.tiles.size(); ++i) {
        tile_ref const& t = rank.work.tiles[i];
        for (tensor const x : row_outputs()) {
          if (t.wave == w && !t.rows_home) {
            std::int64_t const bytes = (t.what.head_end - t.what.head_begin) * row_bytes(x);
            std::int64_t const base = rank.memory.offset(rank.blocks[i][static_cast<std::size_t>(x)]);
            batch_.for_each_home(t.what.segment, {t.what.q_begin, t.what.q_end},
                                 [&](rank_id home, row_range tokens, std::int64_t local) {
                                   moved.move({x, t.what.segment, t.what.head_begin, t.what.head_end, tokens}, rank_id(r),
                                              location::workspace(base + (tokens.begin - t.what.q_begin) * bytes), home,
                                              location::home(local));
                                 });
          }
        }
      }
    }
    if (w == waves_) {
      return_partials(moved);
    }
    close(moved, &skeleton::deliver, w);
  }

  void return_partials(round& moved) const {
    for (std::size_t h = 0; h < gradients_.size(); ++h) {
      for (gradient_piece const& piece : gradients_[h]) {
        if (piece.from.index() == h) {
          continue;
        }
        rank_state const& from = ranks_[piece.from.index()];
        panel const& p = from.work.gradients[piece.panel];
        for (std::size_t i = 0; i < 2; ++i) {
          moved.move({partial_sums[i], p.segment, p.kv_head, p.kv_head + 1, piece.tokens}, piece.from,
                     location::workspace(from.memory.offset(p.blocks[i]) +
                                         (piece.tokens.begin - p.keys.begin) * row_bytes(tensor::dk)),
                     rank_id(h), location::workspace(ranks_[h].memory.offset(piece.blocks[i])));
        }
      }
    }
  }

  pool_batch const& batch_;
  attention_shape const& shape_;
  pass direction_;
  element_bytes width_;
  std::int32_t waves_{};
  std::vector<rank_state> ranks_;
  std::vector<std::vector<region_task>> dots_;
  std::vector<row_range> padding_;
  /// Shape: `[ranks]`, by home rank; empty in the forward pass.
  std::vector<std::vector<gradient_piece>> gradients_;
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
