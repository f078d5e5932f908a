#pragma once

#include <libra/program/home_tasks.hpp>
#include <libra/program/kept_inputs.hpp>
#include <libra/program/memory_plan.hpp>
#include <libra/program/op_list.hpp>
#include <libra/program/rings.hpp>
#include <libra/program/round_list.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace libra::detail {

/// A rank's membership in one ring, and the workspace blocks it needs for it.
///
/// A block holds the rows of one member, run after run.
struct seat {
  /// Blocks of one step; `keys` k and v, the others dk and dv.
  struct step {
    std::array<std::size_t, 2> keys{none, none};      ///< from the previous member; of step 0 the own keys, gathered
    std::array<std::size_t, 2> part{none, none};      ///< what this member adds
    std::array<std::size_t, 2> received{none, none};  ///< the sum so far
    std::array<std::size_t, 2> sum{none, none};       ///< both; of step 0 the part itself
  };

  std::size_t ring{};
  std::size_t member{};
  /// Of the member's own rows and what their keys have made of them so far; none for rows that are used at home.
  std::array<std::size_t, tensor_count> rows{};
  std::vector<step> steps;
};

/// One rank's program while it is built.
struct ring_rank {
  rank_id rank;
  std::vector<seat> seats;  ///< by ring
  op_list list;
  memory_plan memory;
  kept_inputs kept;
  program out;
  std::size_t dot{none};
  std::size_t padding{none};
  std::size_t store{none};  ///< rounds the rows' results once all their keys are in
  std::size_t home_sum{none};
  /// Shape: `[steps]`, the ops of each step; `none` where there is nothing to do.
  std::vector<std::size_t> fetch;
  std::vector<std::size_t> clear;
  std::vector<std::size_t> attend;
  std::vector<std::size_t> sum;
  std::vector<std::size_t> deliver;
};

/// One pass of a pool while it is lowered to rings.
class ring_build {
 public:
  ring_build(pool_batch const& of, std::vector<ring>&& all, pass p, element_bytes const& w, bool keep_inputs = false)
      : batch(of),
        rings(std::move(all)),
        direction(p),
        width(w),
        keeps(keep_inputs) {
    ranks.resize(static_cast<std::size_t>(batch.ranks()));
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      ranks[r].rank = rank_id(r);
    }
    for (std::size_t g = 0; g < rings.size(); ++g) {
      steps = std::max(steps, rings[g].members.size());
      for (std::size_t m = 0; m < rings[g].members.size(); ++m) {
        seat s{.ring = g, .member = m, .rows = {}, .steps = std::vector<seat::step>(rings[g].members.size())};
        s.rows.fill(none);
        rings[g].members[m].seat = ranks[rings[g].members[m].rank.index()].seats.size();
        ranks[rings[g].members[m].rank.index()].seats.push_back(std::move(s));
        gathers = gathers || !rings[g].members[m].rows_home;
      }
    }
  }

  pool_batch const& batch;
  std::vector<ring> rings;
  pass direction{};
  element_bytes width;
  std::size_t steps{};  ///< of the largest ring
  bool keeps{};         ///< what backward would have to bring again, or has lost, stays in the workspace
  bool gathers{};       ///< some member does not hold its rows
  std::vector<ring_rank> ranks;

  [[nodiscard]] std::int64_t row_bytes(tensor t) const noexcept { return head_row_bytes(t, batch.shape, width); }
  /// Whether outputs stay as they were before they were rounded, for `delta`: a ring sees a row's keys one part after
  /// the other, and so cannot make up for what rounding cost.
  [[nodiscard]] bool keeps_outputs() const noexcept { return keeps && width.activation < width.partial; }

  /// Lists a rank's ops. The keys of step j + 1 come after step j - 1 was computed: two steps' keys are alive at a
  /// time.
  void list_ops(std::size_t r, bool dots, bool pads, bool sums_home) {
    ring_rank& rank = ranks[r];
    bool const backward = direction == pass::backward;
    for (auto* which : {&rank.fetch, &rank.clear, &rank.attend, &rank.sum, &rank.deliver}) {
      which->assign(steps, none);
    }
    // Where it reads what a member kept, delta is made there once d_o has come; otherwise at home, before it is sent.
    bool const late = keeps_outputs() && backward;
    rank.dot = dots && !late ? rank.list.push(op_kind::row_dot, queue::compute, {}) : none;
    rank.padding = pads ? rank.list.push(op_kind::clear, queue::compute, {}) : none;
    if (gathers && steps > 0) {
      rank.fetch[0] = rank.list.push(op_kind::exchange, queue::fetch, {rank.dot});
    }
    if (late && !rank.seats.empty()) {
      rank.dot = rank.list.push(op_kind::row_dot, queue::compute, {gathers ? rank.fetch[0] : none});
    }
    std::size_t last = none;
    for (std::size_t j = 0; j < steps; ++j) {
      bool const works = std::ranges::any_of(rank.seats, [&](seat const& s) { return s.steps.size() > j; });
      if (j + 1 < steps) {
        rank.fetch[j + 1] = rank.list.push(op_kind::exchange, queue::fetch, {j > 0 ? rank.attend[j - 1] : none});
      }
      if (works) {
        op_kind const kind = backward ? op_kind::attend_backward : op_kind::attend;
        rank.clear[j] = backward ? rank.list.push(op_kind::clear, queue::compute, {}) : none;
        rank.attend[j] = last = rank.list.push(kind, queue::compute, {rank.fetch[j]});
        if (backward && j > 0) {
          rank.sum[j] = last = rank.list.push(op_kind::reduce, queue::compute, {rank.deliver[j - 1]});
        }
      }
      if (j + 1 == steps && !rank.seats.empty()) {
        rank.store = last = rank.list.push(op_kind::reduce, queue::compute, {});
      }
      if (backward ? steps > 1 || gathers : gathers && j + 1 == steps) {
        rank.deliver[j] = rank.list.push(op_kind::exchange, queue::deliver, {last});
      }
    }
    rank.home_sum = sums_home
                        ? rank.list.push(op_kind::reduce, queue::compute, {steps > 0 ? rank.deliver[steps - 1] : none})
                        : none;
  }

  /// Calls `use(ring, seat, origin)` for a rank's seats in rings that have a step `j`.
  template <class Use>
  void for_each_seat(ring_rank& rank, std::size_t j, Use use) const {
    for (seat& s : rank.seats) {
      if (j < s.steps.size()) {
        ring const& g = rings[s.ring];
        use(g, s, g.members[g.origin(s.member, j)]);
      }
    }
  }
  /// A member's seat.
  [[nodiscard]] seat const& seat_of(ring::member const& m) const { return ranks[m.rank.index()].seats[m.seat]; }

  /// Plans the blocks of a rank's seats. Pre: its ops are listed.
  void add_blocks(ring_rank& rank) {
    std::size_t const final_deliver = steps > 0 ? rank.deliver[steps - 1] : none;
    for (seat& s : rank.seats) {
      ring const& g = rings[s.ring];
      ring::member const& own = g.members[s.member];
      std::size_t const end = s.steps.size() - 1;
      auto const add = [&](tensor x, ring::member const& of, std::int32_t heads, std::size_t first, std::size_t last,
                           std::size_t also) {
        return rank.memory.add(of.size() * heads * row_bytes(x), first, last, also == none ? last : also);
      };
      if (keeps) {
        keep(rank, s);
      }
      if (!own.rows_home) {
        for (tensor const x : row_inputs(direction)) {
          std::size_t& block = s.rows[static_cast<std::size_t>(x)];
          block = block != none ? block : add(x, own, g.heads(), rank.fetch[0], rank.attend[end], none);
        }
      }
      for (tensor const x : row_outputs(direction)) {
        bool const parts = part_of(x) != x;
        if (std::size_t& block = s.rows[static_cast<std::size_t>(part_of(x))]; parts && block == none) {
          block = add(part_of(x), own, g.heads(), rank.attend[0], rank.store, none);
        }
        if (!own.rows_home) {
          s.rows[static_cast<std::size_t>(x)] =
              add(x, own, g.heads(), parts ? rank.store : rank.attend[0], final_deliver, none);
        }
      }
      for (std::size_t j = 0; j <= end; ++j) {
        seat::step& step = s.steps[j];
        ring::member const& origin = g.members[g.origin(s.member, j)];
        for (std::size_t x = 0; x < 2; ++x) {
          if ((j > 0 || !own.rows_home) && step.keys[x] == none) {
            step.keys[x] =
                add(key_inputs[x], origin, 1, rank.fetch[j], rank.attend[j], j < end ? rank.fetch[j + 1] : none);
          }
          if (direction == pass::backward) {
            add_gradient_blocks(rank, step, x, origin.size() * row_bytes(tensor::dk_part), j, j == end);
          }
        }
      }
    }
  }

  /// The region of a ring's key/value head.
  [[nodiscard]] static region keys_of(ring const& g, tensor x, row_range keys) {
    return {x, g.segment, g.kv_head, g.kv_head + 1, keys};
  }
  /// Where the i-th run of a member's rows lies in a block of one key/value head.
  [[nodiscard]] location in_block(ring_rank const& rank, std::size_t block, tensor x, ring::member const& of,
                                  std::size_t i) const {
    return location::workspace(rank.memory.offset(block) + of.before(i) * row_bytes(x));
  }
  /// Where the keys or values of step `j` lie.
  [[nodiscard]] location key_location(ring_rank const& rank, ring const& g, seat const& s, std::size_t j, std::size_t x,
                                      std::size_t i) const {
    ring::member const& origin = g.members[g.origin(s.member, j)];
    return s.steps[j].keys[x] == none ? origin.home[i] : in_block(rank, s.steps[j].keys[x], key_inputs[x], origin, i);
  }
  /// Where the i-th run of the member's own rows of a tensor lies.
  [[nodiscard]] location row_location(ring_rank const& rank, ring const& g, seat const& s, tensor x,
                                      std::size_t i) const {
    ring::member const& own = g.members[s.member];
    std::size_t const block = s.rows[static_cast<std::size_t>(x)];
    return block == none ? own.home[i]
                         : location::workspace(rank.memory.offset(block) + own.before(i) * g.heads() * row_bytes(x));
  }

  /// The rows of a rank's seats, whose outputs it has kept.
  [[nodiscard]] std::vector<dot_task> dots_of_seats(ring_rank const& rank) const {
    std::vector<dot_task> dots;
    for (seat const& s : rank.seats) {
      ring const& g = rings[s.ring];
      auto const& rows = g.members[s.member].rows;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        auto const at = [&](tensor x) { return row_location(rank, g, s, x, i); };
        dots.push_back({{tensor::delta, g.segment, g.head_begin, g.head_end, rows[i]},
                        at(tensor::delta),
                        at(tensor::d_o),
                        at(tensor::o_part)});
      }
    }
    return dots;
  }

  /// Whether some row sees some key.
  [[nodiscard]] bool sees(row_range rows, row_range keys) const noexcept {
    row_range const seen = batch.shape.mask.span(rows.begin, rows.end, keys.end);
    return batch.shape.mask.kind == mask_kind::full || (seen.begin < keys.end && keys.begin < seen.end);
  }

  /// Brings a member's own rows and keys from their homes.
  void gather_rows(round_list& moved, ring_rank const& rank, ring const& g, seat const& s) const {
    ring::member const& own = g.members[s.member];
    for (std::size_t i = 0; i < own.rows.size() && !own.rows_home; ++i) {
      for (tensor const x : fetched_rows(direction, keeps)) {
        if (x == tensor::delta && keeps_outputs()) {
          continue;
        }
        move_rows(moved, rank, {x, g.segment, g.head_begin, g.head_end, own.rows[i]}, row_location(rank, g, s, x, i),
                  true);
      }
      bool const held = keeps && direction == pass::backward;
      for (std::size_t x = 0; x < 2 && !held; ++x) {
        move_rows(moved, rank, keys_of(g, key_inputs[x], own.rows[i]), key_location(rank, g, s, 0, x, i), true);
      }
    }
  }
  /// Takes the results of a member's rows home.
  void return_rows(round_list& moved, ring_rank const& rank, ring const& g, seat const& s) const {
    ring::member const& own = g.members[s.member];
    for (std::size_t i = 0; i < own.rows.size() && !own.rows_home; ++i) {
      for (tensor const x : row_outputs(direction)) {
        move_rows(moved, rank, {x, g.segment, g.head_begin, g.head_end, own.rows[i]}, row_location(rank, g, s, x, i),
                  false);
      }
    }
  }

 private:
  /// Keeps what a seat gathers and computes in the forward pass: both passes list it alike.
  void keep(ring_rank& rank, seat& s) const {
    ring const& g = rings[s.ring];
    ring::member const& own = g.members[s.member];
    auto const whole = [&](region what) {
      std::int64_t const bytes = what.heads() * row_bytes(what.what);
      std::int64_t const at = rank.kept.take(own.size() * bytes);
      for (std::size_t i = 0; i < own.rows.size(); ++i) {
        what.tokens = own.rows[i];
        rank.kept.put(what, at + own.before(i) * bytes, bytes);
      }
      return rank.memory.fix(at);
    };
    if (keeps_outputs()) {
      s.rows[static_cast<std::size_t>(tensor::o_part)] =
          whole({tensor::o_part, g.segment, g.head_begin, g.head_end, {}});
    }
    if (own.rows_home) {
      return;
    }
    s.rows[static_cast<std::size_t>(tensor::q)] = whole({tensor::q, g.segment, g.head_begin, g.head_end, {}});
    for (std::size_t x = 0; x < 2; ++x) {
      s.steps[0].keys[x] = whole(keys_of(g, key_inputs[x], {}));
    }
  }

  void move_rows(round_list& moved, ring_rank const& rank, region const& what, location block, bool from_home) const {
    std::int64_t const bytes = what.heads() * row_bytes(what.what);
    batch.for_each_home(what.segment, what.tokens, [&](rank_id home, row_range tokens, std::int64_t local) {
      region piece = what;
      piece.tokens = tokens;
      location const here = location::workspace(block.byte() + (tokens.begin - what.tokens.begin) * bytes);
      if (from_home) {
        moved.move(piece, home, location::home(local), rank.rank, here);
      } else {
        moved.move(piece, rank.rank, here, home, location::home(local));
      }
    });
  }

  /// Blocks for the part, the sum so far and the new sum of one step.
  static void add_gradient_blocks(ring_rank& rank, seat::step& step, std::size_t x, std::int64_t bytes, std::size_t j,
                                  bool end) {
    // The complete sum is sent home after the last step of the ring, and added there where it is at home already.
    std::size_t const sent = rank.deliver[j];
    std::size_t const added = end ? rank.home_sum : none;
    std::size_t const last = sent != none ? sent : added;
    std::size_t const also = sent != none && added != none ? added : last;
    if (j == 0) {
      step.part[x] = step.sum[x] = rank.memory.add(bytes, rank.clear[j], last, also);
      return;
    }
    step.part[x] = rank.memory.add(bytes, rank.clear[j], rank.sum[j]);
    step.received[x] = rank.memory.add(bytes, rank.deliver[j - 1], rank.sum[j]);
    step.sum[x] = rank.memory.add(bytes, rank.sum[j], last, also);
  }
};

}  // namespace libra::detail
