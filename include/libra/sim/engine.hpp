#pragma once

#include <libra/core/error.hpp>
#include <libra/model/machine.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>
#include <libra/sim/event_queue.hpp>
#include <libra/sim/kernel_time.hpp>
#include <libra/sim/network.hpp>
#include <libra/sim/op_time.hpp>
#include <libra/sim/timing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra::sim {

/// Runs the programs of one pool for one pass on a machine's clock: a discrete-event interpreter.
///
/// - The queues of a rank run concurrently. An op starts when the op before it on its queue and the ops of other
///   queues in its `after` have ended.
/// - A rank is ready for a round one latency after its exchange starts: the node's, or the network's if it has a peer
///   in another node. What one rank sends another in a round is one flow, which starts when both are ready.
/// - A rank has a port per direction to its node and to the network. A port shares its bandwidth equally among its
///   flows; a flow ends when both of its ports have served it, an exchange when its last flow has. So a round that all
///   ranks start together ends when the port with the most bytes has carried them. Where the machine limits what one
///   rank sends one rank of another node, no such flow is faster.
/// - Before that latency a rank copies what it sends of single heads out of its home tensors, and after its last flow
///   it copies what it received back into them (`copy_time_of`). An exchange without flows takes its copies.
/// - Ops that are no exchanges take `op_time_ps` at the rank's speed, those of the compute queue `sm_factor` times as
///   long while the rank has an exchange with others under way. What the combine queue adds up waits for memory, as
///   copies do, and slows nothing.
///
/// One object runs any number of pools and keeps its capacity. Units: picoseconds.
/// Determinism: integers only; the same inputs give the same times on every platform.
/// Complexity: O(n log n) in ops and flows plus linear in tiles and transfers.
class engine {
 public:
  /// Pre: the programs are valid (the verifier proves it) and belong to the batch.
  /// Errors: `run_error` naming an op that waits for ever or a flow without its other end; `range_error` for a time
  /// beyond the integers; `input_error` naming a figure of the machine that is out of range, or an op whose queue
  /// does not run its kind.
  template <tile_time Time>
  [[nodiscard]] pool_timing run(pool_batch const& batch, pool_program const& programs, machine const& rates,
                                Time const& time) {
    validate(rates);
    op_context<Time> const context{batch, programs.direction, programs.width, rates, time};
    auto const duration_of = [&](op_index o) {
      std::uint32_t const r = ops_[o].rank;
      return checked_int64(
          at_speed(op_time_ps(programs.ranks[r], *ops_[o].what, context), batch.speed_of(rank_id(std::size_t{r}))),
          "an op's time in picoseconds");
    };
    prepare(batch, programs, rates);
    for (std::uint32_t r = 0; r < programs.ranks.size(); ++r) {
      start_ready(r, duration_of);
    }
    settle(duration_of);
    while (!events_.empty()) {
      now_ps_ = events_.time_ps();
      handle(events_.first());
      settle(duration_of);
    }
    require_all_ended();
    return summary();
  }

  /// When each op of the last pool ran. Shape: `[ops of the rank]`, in program order.
  [[nodiscard]] std::span<op_span const> spans(rank_id r) const noexcept {
    return std::span(spans_).subspan(first_op_[r.index()], first_op_[r.index() + 1] - first_op_[r.index()]);
  }

 private:
  /// Every queue of a rank and every line is a source of events.
  static constexpr std::uint32_t sources_per_rank = queue_count + pool_network::lines_per_rank;
  static constexpr auto compute_queue = static_cast<std::uint32_t>(queue::compute);
  static constexpr auto combine_queue = static_cast<std::uint32_t>(queue::combine);

  struct op_place {
    op const* what{};
    std::uint32_t rank{};
  };

  struct rank_state {
    /// How many ops of each queue have ended; the next one runs or waits.
    std::array<std::uint32_t, queue_count> ended{};
    std::array<bool, queue_count> running{};
    std::int32_t exchanges{};           ///< under way with other ranks
    std::int64_t exchanges_since_ps{};  ///< when there was one again
    std::int64_t compute_left_ps{};     ///< of the running batch, without slow-down
    std::int64_t compute_since_ps{};    ///< when that was left
    std::int64_t compute_busy_ps{};
    std::int64_t exchange_busy_ps{};
    std::int64_t end_ps{};
  };

  void prepare(pool_batch const& batch, pool_program const& programs, machine const& rates) {
    network_.prepare(batch, programs, rates.links, rates.peer_bytes_per_second);
    sm_factor_permille_ = rates.sm_factor_permille;
    std::size_t const ranks = programs.ranks.size();
    ops_.clear();
    copies_.clear();
    first_op_.assign(1, 0);
    if (queues_.size() < ranks * queue_count) {
      queues_.resize(ranks * queue_count);
    }
    for (std::uint32_t r = 0; r < ranks; ++r) {
      for (std::uint32_t q = 0; q < queue_count; ++q) {
        queue_of(r, q).clear();
      }
      for (op const& o : programs.ranks[r].ops) {
        require((o.kind == op_kind::exchange) == libra::exchanges(o.on), "op ", ops_.size() - first_op_.back(),
                " of rank ", r, " is of kind ", name_of(o.kind), " on queue ", name_of(o.on));
        queue_of(r, static_cast<std::uint32_t>(o.on)).push_back(static_cast<op_index>(ops_.size()));
        ops_.push_back({&o, r});
        copies_.push_back(o.kind == op_kind::exchange ? copy_time_of(programs.ranks[r], o, batch.shape, programs.width,
                                                                     rates.memory_bytes_per_second)
                                                      : copy_time{});
      }
      first_op_.push_back(ops_.size());
    }
    ranks_.assign(ranks, {});
    spans_.assign(ops_.size(), {});
    events_.reset(ranks * sources_per_rank);
    just_ended_.clear();
    now_ps_ = 0;
  }

  [[nodiscard]] std::vector<op_index>& queue_of(std::uint32_t r, std::uint32_t q) {
    return queues_[r * queue_count + q];
  }

  void handle(event_queue::source from) {
    std::uint32_t const r = from / sources_per_rank;
    std::uint32_t const which = from % sources_per_rank;
    if (which >= queue_count) {
      network_.serve(r * pool_network::lines_per_rank + (which - std::uint32_t{queue_count}), now_ps_,
                     [&](op_index o) { end_flows(o); });
      return;
    }
    events_.set(from, never);
    op_index const o = queue_of(r, which)[ranks_[r].ended[which]];
    if (which == compute_queue) {
      end_compute(o, r);
    } else if (which == combine_queue) {
      end(o, r, which);
    } else if (network_.ended(o)) {
      end_exchange(o);
    } else {
      network_.become_ready(o, now_ps_);
    }
  }

  /// Starts what the ends of ops allow, until nothing more happens now.
  template <class Duration>
  void settle(Duration duration_of) {
    while (!just_ended_.empty()) {
      std::uint32_t const r = just_ended_.back();
      just_ended_.pop_back();
      start_ready(r, duration_of);
    }
    constexpr std::uint32_t lines = pool_network::lines_per_rank;
    network_.take_changes([&](std::uint32_t line, std::int64_t next_ps) {
      events_.set(source_of(line / lines, std::uint32_t{queue_count} + line % lines), next_ps);
    });
  }

  [[nodiscard]] static constexpr event_queue::source source_of(std::uint32_t r, std::uint32_t which) noexcept {
    return r * sources_per_rank + which;
  }

  template <class Duration>
  void start_ready(std::uint32_t r, Duration duration_of) {
    rank_state& rank = ranks_[r];
    for (std::uint32_t q = 0; q < queue_count; ++q) {
      auto const& list = queue_of(r, q);
      if (!rank.running[q] && rank.ended[q] < list.size() && inputs_ended(rank, *ops_[list[rank.ended[q]]].what)) {
        start(list[rank.ended[q]], r, q, duration_of);
      }
    }
  }

  [[nodiscard]] static bool inputs_ended(rank_state const& rank, op const& o) noexcept {
    for (std::size_t q = 0; q < queue_count; ++q) {
      if (q != static_cast<std::size_t>(o.on) && static_cast<std::int32_t>(rank.ended[q]) < o.after[q]) {
        return false;
      }
    }
    return true;
  }

  template <class Duration>
  void start(op_index o, std::uint32_t r, std::uint32_t q, Duration duration_of) {
    rank_state& rank = ranks_[r];
    rank.running[q] = true;
    spans_[o].start_ps = now_ps_;
    if (q == compute_queue) {
      rank.compute_left_ps = duration_of(o);
      rank.compute_since_ps = now_ps_;
      expect_compute_end(r);
    } else if (q == combine_queue) {
      events_.set(source_of(r, q), now_ps_ + duration_of(o));
    } else if (network_.ended(o) && copies_[o] == copy_time{}) {
      end(o, r, q);
    } else {
      change_exchanges(r, 1);
      std::int64_t const copies_ps = copies_[o].before_ps + (network_.ended(o) ? copies_[o].after_ps : 0);
      events_.set(source_of(r, q), now_ps_ + copies_ps + (network_.ended(o) ? 0 : network_.latency_ps(o)));
    }
  }

  void end_compute(op_index o, std::uint32_t r) {
    end(o, r, compute_queue);
    ranks_[r].compute_busy_ps += spans_[o].duration_ps();
  }

  /// An exchange's last flow has ended: what is left is to copy what came.
  void end_flows(op_index o) {
    if (copies_[o].after_ps == 0) {
      end_exchange(o);
    } else {
      events_.set(source_of(ops_[o].rank, static_cast<std::uint32_t>(ops_[o].what->on)), now_ps_ + copies_[o].after_ps);
    }
  }

  void end_exchange(op_index o) {
    end(o, ops_[o].rank, static_cast<std::uint32_t>(ops_[o].what->on));
    change_exchanges(ops_[o].rank, -1);
  }

  void end(op_index o, std::uint32_t r, std::uint32_t q) {
    ranks_[r].running[q] = false;
    ++ranks_[r].ended[q];
    ranks_[r].end_ps = now_ps_;
    spans_[o].end_ps = now_ps_;
    just_ended_.push_back(r);
  }

  /// An exchange with other ranks begins or ends, which may change how fast the rank computes.
  void change_exchanges(std::uint32_t r, std::int32_t by) {
    rank_state& rank = ranks_[r];
    bool const before = rank.exchanges > 0;
    bool const after = rank.exchanges + by > 0;
    if (before == after) {
      rank.exchanges += by;
      return;
    }
    if (rank.running[compute_queue]) {
      rank.compute_left_ps -= (now_ps_ - rank.compute_since_ps) * 1000 / pace_permille(rank);
      rank.compute_since_ps = now_ps_;
    }
    rank.exchange_busy_ps += before ? now_ps_ - rank.exchanges_since_ps : 0;
    rank.exchanges_since_ps = now_ps_;
    rank.exchanges += by;
    if (rank.running[compute_queue]) {
      expect_compute_end(r);
    }
  }

  [[nodiscard]] std::int64_t pace_permille(rank_state const& rank) const noexcept {
    return rank.exchanges > 0 ? sm_factor_permille_ : 1000;
  }

  void expect_compute_end(std::uint32_t r) {
    rank_state const& rank = ranks_[r];
    std::int64_t const left = (rank.compute_left_ps * pace_permille(rank) + 999) / 1000;
    events_.set(source_of(r, compute_queue), now_ps_ + left);
  }

  void require_all_ended() const {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (std::size_t q = 0; q < queue_count; ++q) {
        auto const& list = queues_[r * queue_count + q];
        if (std::uint32_t const ended = ranks_[r].ended[q]; ended < list.size()) {
          op const& stuck = *ops_[list[ended]].what;
          throw run_error(message("op ", list[ended] - first_op_[r], " of rank ", r, " (", name_of(stuck.kind),
                                  " on queue ", name_of(stuck.on),
                                  ranks_[r].running[q] ? ") never ends" : ") never starts"));
        }
      }
    }
  }

  [[nodiscard]] pool_timing summary() const {
    pool_timing result;
    result.ranks.reserve(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      rank_timing t{.end_ps = ranks_[r].end_ps,
                    .compute_busy_ps = ranks_[r].compute_busy_ps,
                    .exchange_busy_ps = ranks_[r].exchange_busy_ps,
                    .ports = {}};
      for (std::size_t p = 0; p < port_count; ++p) {
        t.ports[p] = network_.use_of(r, static_cast<port>(p));
      }
      result.makespan_ps = std::max(result.makespan_ps, t.end_ps);
      result.ranks.push_back(t);
    }
    return result;
  }

  pool_network network_;
  event_queue events_;
  std::int64_t now_ps_{};
  std::int64_t sm_factor_permille_{1000};
  /// Shape: `[ops of all ranks]`, by rank, in program order.
  std::vector<op_place> ops_;
  std::vector<op_span> spans_;
  std::vector<copy_time> copies_;
  /// Shape: `[ranks + 1]`.
  std::vector<std::size_t> first_op_{0};
  /// Shape: `[ranks * queue_count]`. The ops of each queue, in order.
  std::vector<std::vector<op_index>> queues_;
  std::vector<rank_state> ranks_;
  /// Ranks of ops that ended and whose followers have not been looked at.
  std::vector<std::uint32_t> just_ended_;
};

}  // namespace libra::sim
