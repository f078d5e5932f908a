#pragma once

#include <libra/program/gradient_routes.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/lowering_options.hpp>
#include <libra/program/ring_build.hpp>
#include <libra/program/rings.hpp>
#include <libra/program/round_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::detail {

/// Turns tiles into rings: keys and values pass from member to member, partial results are accumulated where the rows
/// are computed, in the workspace, and rounded to the rows' element type once.
///
/// While step j is computed, the keys of step j + 1 travel. Backward, the gradients of the keys follow them one step
/// behind: each member adds its part to what it received and passes the sum on; the last one sends it home.
class ring_lowering {
 public:
  ring_lowering(pool_batch const& batch, std::span<tile const> tiles, pass direction, lowering_options const& options)
      : build_(batch, form_rings(batch, tiles), direction, options.width, options.keep_inputs),
        home_(list_home_tasks(batch, direction)),
        moved_(programs_of(build_.ranks)) {
    if (backward()) {
      list_gradient_pieces();
    }
    for (std::size_t r = 0; r < build_.ranks.size(); ++r) {
      build_.list_ops(r, !home_.dots[r].empty(), home_.padding[r].size() > 0, backward() && !gradients_[r].empty());
    }
  }

  [[nodiscard]] pool_program run() {
    plan_memory();
    for (std::size_t r = 0; r < build_.ranks.size(); ++r) {
      emit_home(r);
    }
    // A rank's seats are many: what needs no other rank is listed while they are at hand.
    for (std::size_t r = 0; r < build_.ranks.size(); ++r) {
      reserve(build_.ranks[r]);
      for (std::size_t j = 0; j < build_.steps; ++j) {
        emit_clears(r, j);
        emit_tiles(r, j);
        emit_sums(r, j);
      }
    }
    for (std::size_t j = 0; j < build_.steps; ++j) {
      emit_fetch(j);
    }
    for (std::size_t r = 0; r < build_.ranks.size(); ++r) {
      emit_results(r);
    }
    for (std::size_t j = 0; j < build_.steps; ++j) {
      emit_deliver(j);
    }
    for (std::size_t r = 0; r < build_.ranks.size(); ++r) {
      emit_home_sums(r);
    }
    pool_program result{.direction = build_.direction, .width = build_.width, .ranks = {}};
    for (ring_rank& rank : build_.ranks) {
      rank.out.ops = std::move(rank.list.ops);
      rank.out.workspace_bytes = rank.memory.bytes();
      rank.out.kept = rank.kept.regions();
      rank.out.kept_bytes = rank.kept.bytes();
      result.ranks.push_back(std::move(rank.out));
    }
    return result;
  }

 private:
  [[nodiscard]] bool backward() const noexcept { return build_.direction == pass::backward; }

  /// Makes room for what a rank's seats list. Under a causal mask, of two runs of rows and two of keys two pairs see
  /// each other in each step, three in the first.
  void reserve(ring_rank& rank) const {
    std::size_t steps = 0;
    for (seat const& s : rank.seats) {
      steps += s.steps.size();
    }
    program& out = rank.out;
    out.tiles.reserve(2 * steps + rank.seats.size());
    if (backward()) {
      out.clears.reserve(out.clears.size() + 4 * steps);
      out.reduces.reserve(4 * steps);
      out.partials.reserve(8 * steps);
    }
  }

  /// The holder of a ring's complete key gradients of member `o` is the last to work on them: the one before `o`.
  void list_gradient_pieces() {
    gradients_.resize(build_.ranks.size());
    for (std::size_t g = 0; g < build_.rings.size(); ++g) {
      ring const& ring_of = build_.rings[g];
      for (std::size_t o = 0; o < ring_of.members.size(); ++o) {
        std::size_t const holder = ring_of.origin(o, 1);
        for (std::size_t i = 0; i < ring_of.members[o].rows.size(); ++i) {
          build_.batch.for_each_home(ring_of.segment, ring_of.members[o].rows[i],
                                     [&](rank_id home, row_range tokens, std::int64_t local) {
                                       // `panel` names the ring here, which with the tokens tells the holder's block.
                                       gradients_[home.index()].push_back({ring_of.segment,
                                                                           ring_of.kv_head,
                                                                           ring_of.members[holder].rank,
                                                                           g,
                                                                           none,
                                                                           tokens,
                                                                           local,
                                                                           0,
                                                                           false,
                                                                           {none, none}});
                                     });
        }
      }
    }
    for (auto& pieces : gradients_) {
      std::ranges::stable_sort(pieces, {}, [](gradient_piece const& p) {
        return std::tuple(p.segment, p.kv_head, p.from, p.panel, p.tokens.begin);
      });
    }
  }

  void plan_memory() {
    for (ring_rank& rank : build_.ranks) {
      build_.add_blocks(rank);
    }
    for (std::size_t h = 0; h < gradients_.size(); ++h) {
      ring_rank& home = build_.ranks[h];
      for (gradient_piece& piece : gradients_[h]) {
        for (std::size_t i = 0; i < 2 && piece.from.index() != h; ++i) {
          std::size_t const last = build_.rings[piece.panel].members.size() - 1;
          piece.blocks[i] = home.memory.add(piece.tokens.size() * build_.row_bytes(tensor::dk_part), home.deliver[last],
                                            home.home_sum);
        }
      }
    }
    for (ring_rank& rank : build_.ranks) {
      rank.memory.reserve(rank.kept.bytes());
      rank.memory.place(op_order(rank.list.ops));
    }
  }

  void emit_home(std::size_t r) {
    ring_rank& rank = build_.ranks[r];
    if (rank.dot != none) {
      rank.out.dots = build_.keeps_outputs() ? build_.dots_of_seats(rank) : home_.dots[r];
      rank.list.ops[rank.dot].items = {0, static_cast<std::uint32_t>(rank.out.dots.size())};
    }
    if (rank.padding != none) {
      clear_padding(build_.batch.shape, build_.direction, home_.padding[r], rank.out.clears);
      rank.list.ops[rank.padding].items = {0, static_cast<std::uint32_t>(rank.out.clears.size())};
    }
  }

  /// Zeroes the members' own parts of the key gradients of step `j`.
  void emit_clears(std::size_t r, std::size_t j) {
    ring_rank& rank = build_.ranks[r];
    if (rank.clear[j] == none) {
      return;
    }
    auto const begin = static_cast<std::uint32_t>(rank.out.clears.size());
    build_.for_each_seat(rank, j, [&](ring const& g, seat const& s, ring::member const& origin) {
      for (std::size_t i = 0; i < origin.rows.size(); ++i) {
        for (std::size_t x = 0; x < 2; ++x) {
          rank.out.clears.push_back({ring_build::keys_of(g, partial_sums[x], origin.rows[i]),
                                     build_.in_block(rank, s.steps[j].part[x], partial_sums[x], origin, i)});
        }
      }
    });
    rank.list.ops[rank.clear[j]].items = {begin, static_cast<std::uint32_t>(rank.out.clears.size())};
  }

  void emit_tiles(std::size_t r, std::size_t j) {
    ring_rank& rank = build_.ranks[r];
    if (rank.attend[j] == none) {
      return;
    }
    auto const begin = static_cast<std::uint32_t>(rank.out.tiles.size());
    build_.for_each_seat(rank, j, [&](ring const& g, seat const& s, ring::member const& origin) {
      ring::member const& own = g.members[s.member];
      for (std::size_t a = 0; a < own.rows.size(); ++a) {
        // In the first step a run of rows meets its own keys first, of which every row sees at least its own.
        for (std::size_t n = 0; n < origin.rows.size(); ++n) {
          std::size_t const b = j == 0 ? (a + n) % origin.rows.size() : n;
          if (build_.sees(own.rows[a], origin.rows[b])) {
            rank.out.tiles.push_back(task(rank, g, s, j, a, b, j == 0 && n == 0 ? key_part::first : key_part::next));
          }
        }
      }
    });
    rank.list.ops[rank.attend[j]].items = {begin, static_cast<std::uint32_t>(rank.out.tiles.size())};
  }

  [[nodiscard]] tile_task task(ring_rank const& rank, ring const& g, seat const& s, std::size_t j, std::size_t a,
                               std::size_t b, key_part part) const {
    ring::member const& own = g.members[s.member];
    ring::member const& origin = g.members[g.origin(s.member, j)];
    tile_task t{.segment = g.segment,
                .head_begin = g.head_begin,
                .head_end = g.head_end,
                .rows = own.rows[a],
                .keys = origin.rows[b],
                .part = part};
    for (tensor const x : row_inputs(build_.direction)) {
      t.put(x, build_.row_location(rank, g, s, x, a));
    }
    for (tensor const x : row_outputs(build_.direction)) {
      t.put(part_of(x), build_.row_location(rank, g, s, part_of(x), a));
    }
    for (std::size_t x = 0; x < 2; ++x) {
      t.put(key_inputs[x], build_.key_location(rank, g, s, j, x, b));
      if (backward()) {
        t.put(partial_sums[x], build_.in_block(rank, s.steps[j].part[x], partial_sums[x], origin, b));
      }
    }
    return t;
  }

  /// Makes results of what the rows' keys gave.
  void emit_results(std::size_t r) {
    ring_rank& rank = build_.ranks[r];
    if (rank.store == none) {
      return;
    }
    auto const begin = static_cast<std::uint32_t>(rank.out.reduces.size());
    build_.for_each_seat(rank, 0, [&](ring const& g, seat const& s, ring::member const&) {
      ring::member const& own = g.members[s.member];
      for (std::size_t i = 0; i < own.rows.size(); ++i) {
        for (tensor const x : row_outputs(build_.direction)) {
          if (part_of(x) != x) {
            auto const first = static_cast<std::uint32_t>(rank.out.partials.size());
            rank.out.partials.push_back(build_.row_location(rank, g, s, part_of(x), i));
            rank.out.reduces.push_back({{x, g.segment, g.head_begin, g.head_end, own.rows[i]},
                                        build_.row_location(rank, g, s, x, i),
                                        first,
                                        first + 1});
          }
        }
      }
    });
    rank.list.ops[rank.store].items = {begin, static_cast<std::uint32_t>(rank.out.reduces.size())};
  }

  /// Adds the own part of step `j` to the sum that came from the previous member.
  void emit_sums(std::size_t r, std::size_t j) {
    ring_rank& rank = build_.ranks[r];
    if (rank.sum[j] == none) {
      return;
    }
    auto const begin = static_cast<std::uint32_t>(rank.out.reduces.size());
    build_.for_each_seat(rank, j, [&](ring const& g, seat const& s, ring::member const& origin) {
      for (std::size_t i = 0; i < origin.rows.size(); ++i) {
        for (std::size_t x = 0; x < 2; ++x) {
          auto const first = static_cast<std::uint32_t>(rank.out.partials.size());
          for (std::size_t const block : {s.steps[j].received[x], s.steps[j].part[x]}) {
            rank.out.partials.push_back(build_.in_block(rank, block, partial_sums[x], origin, i));
          }
          rank.out.reduces.push_back({ring_build::keys_of(g, partial_sums[x], origin.rows[i]),
                                      build_.in_block(rank, s.steps[j].sum[x], partial_sums[x], origin, i), first,
                                      first + 2});
        }
      }
    });
    rank.list.ops[rank.sum[j]].items = {begin, static_cast<std::uint32_t>(rank.out.reduces.size())};
  }

  /// The round before step `j`: the members' rows in the first, then keys from the previous member.
  void emit_fetch(std::size_t j) {
    if (build_.ranks.front().fetch[j] == none) {
      return;
    }
    round_list& moved = moved_;
    for (ring_rank& rank : build_.ranks) {
      build_.for_each_seat(rank, j, [&](ring const& g, seat const& s, ring::member const& origin) {
        if (j == 0) {
          build_.gather_rows(moved, rank, g, s);
          return;
        }
        ring::member const& previous = g.members[g.origin(s.member, 1)];
        ring_rank const& from = build_.ranks[previous.rank.index()];
        seat const& held = build_.seat_of(previous);
        for (std::size_t i = 0; i < origin.rows.size(); ++i) {
          for (std::size_t x = 0; x < 2; ++x) {
            moved.move(ring_build::keys_of(g, key_inputs[x], origin.rows[i]), previous.rank,
                       build_.key_location(from, g, held, j - 1, x, i), rank.rank,
                       build_.in_block(rank, s.steps[j].keys[x], key_inputs[x], origin, i));
          }
        }
      });
    }
    close(moved, [&](ring_rank& rank) { return rank.fetch[j]; });
  }

  /// The round after step `j`: gradients of the keys to the next member or home; after the last step, results too.
  void emit_deliver(std::size_t j) {
    if (build_.ranks.front().deliver[j] == none) {
      return;
    }
    round_list& moved = moved_;
    for (ring_rank& rank : build_.ranks) {
      build_.for_each_seat(rank, j, [&](ring const& g, seat const& s, ring::member const& origin) {
        if (backward() && j + 1 < g.members.size()) {
          ring::member const& next = g.members[g.next(s.member)];
          ring_rank const& to = build_.ranks[next.rank.index()];
          seat::step const& after = build_.seat_of(next).steps[j + 1];
          for (std::size_t i = 0; i < origin.rows.size(); ++i) {
            for (std::size_t x = 0; x < 2; ++x) {
              moved.move(ring_build::keys_of(g, partial_sums[x], origin.rows[i]), rank.rank,
                         build_.in_block(rank, s.steps[j].sum[x], partial_sums[x], origin, i), to.rank,
                         build_.in_block(to, after.received[x], partial_sums[x], origin, i));
            }
          }
        }
      });
      if (j + 1 == build_.steps) {
        build_.for_each_seat(
            rank, 0, [&](ring const& g, seat const& s, ring::member const&) { build_.return_rows(moved, rank, g, s); });
      }
    }
    return_gradients(moved, j);
    close(moved, [&](ring_rank& rank) { return rank.deliver[j]; });
  }

  /// Where a home finds, in the holder's workspace, the complete sums of a piece.
  [[nodiscard]] location held(gradient_piece const& piece, std::size_t x) const {
    ring const& g = build_.rings[piece.panel];
    ring_rank const& holder = build_.ranks[piece.from.index()];
    std::size_t const last = g.members.size() - 1;
    auto const member =
        static_cast<std::size_t>(std::ranges::find(g.members, piece.from, &ring::member::rank) - g.members.begin());
    ring::member const& origin = g.members[g.origin(member, last)];
    auto const run = static_cast<std::size_t>(std::ranges::find_if(origin.rows,
                                                                   [&](row_range const& rows) {
                                                                     return rows.begin <= piece.tokens.begin &&
                                                                            piece.tokens.begin < rows.end;
                                                                   }) -
                                              origin.rows.begin());
    location const at =
        build_.in_block(holder, build_.seat_of(g.members[member]).steps[last].sum[x], partial_sums[x], origin, run);
    return location::workspace(at.byte() +
                               (piece.tokens.begin - origin.rows[run].begin) * build_.row_bytes(tensor::dk_part));
  }

  void return_gradients(round_list& moved, std::size_t j) const {
    for (std::size_t h = 0; h < gradients_.size(); ++h) {
      for (gradient_piece const& piece : gradients_[h]) {
        ring const& g = build_.rings[piece.panel];
        for (std::size_t x = 0; x < 2 && piece.from.index() != h && j + 1 == g.members.size(); ++x) {
          moved.move(ring_build::keys_of(g, partial_sums[x], piece.tokens), piece.from, held(piece, x), rank_id(h),
                     location::workspace(build_.ranks[h].memory.offset(piece.blocks[x])));
        }
      }
    }
  }

  void emit_home_sums(std::size_t r) {
    ring_rank& rank = build_.ranks[r];
    if (rank.home_sum == none) {
      return;
    }
    auto const begin = static_cast<std::uint32_t>(rank.out.reduces.size());
    list_reduces(
        gradients_[r], build_.row_bytes(tensor::dk_part),
        [&](gradient_piece const& piece, std::size_t x) {
          return piece.blocks[x] != none ? rank.memory.offset(piece.blocks[x]) : held(piece, x).byte();
        },
        rank.out);
    rank.list.ops[rank.home_sum].items = {begin, static_cast<std::uint32_t>(rank.out.reduces.size())};
  }

  template <class Which>
  void close(round_list& moved, Which which) {
    for (std::size_t r = 0; r < build_.ranks.size(); ++r) {
      ring_rank& rank = build_.ranks[r];
      moved.close(r, rank.list.ops[which(rank)]);
    }
  }

  ring_build build_;
  home_tasks home_;
  round_list moved_;
  /// Shape: `[ranks]`, by home; empty in the forward pass.
  std::vector<std::vector<gradient_piece>> gradients_;
};

}  // namespace libra::detail
