#pragma once

#include <libra/core/error.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace libra::sim {

/// An op of a pool, all ranks counted through.
using op_index = std::uint32_t;
inline constexpr op_index no_op = std::numeric_limits<op_index>::max();

/// What one rank sends another in one round.
struct flow {
  std::int64_t bytes{};
  op_index from{};
  op_index to{};
  std::int32_t from_rank{};
  std::int32_t to_rank{};
  bool network{};  ///< its ranks are in different nodes
};

/// The flows of a pool's programs: the transfers of each round, joined by sender and receiver.
///
/// Copies inside a rank are not flows. Keeps its capacity from pool to pool.
class pool_flows {
 public:
  /// Reads the sends of all ranks; the receives mirror them (the verifier proves it).
  ///
  /// Complexity: linear in ops, transfers, and rounds times ranks. Errors: `run_error` naming a round in which a
  /// rank is sent something and has no exchange.
  void collect(pool_batch const& batch, pool_program const& programs, std::int32_t ranks_per_node) {
    list_rounds(programs);
    flows_.clear();
    first_sent_.assign(1, 0);
    bytes_to_.assign(programs.ranks.size(), 0);
    std::array<std::int64_t, tensor_count> row_bytes{};
    for (std::size_t t = 0; t < tensor_count; ++t) {
      row_bytes[t] = head_row_bytes(static_cast<tensor>(t), batch.shape, programs.width);
    }
    op_index index = 0;
    for (std::size_t r = 0; r < programs.ranks.size(); ++r) {
      program const& mine = programs.ranks[r];
      for (op const& o : mine.ops) {
        if (o.kind == op_kind::exchange) {
          peers_.clear();
          for (transfer const& t : mine.sends_of(o)) {
            std::int64_t const bytes =
                t.what.tokens.size() * t.what.heads() * row_bytes[static_cast<std::size_t>(t.what.what)];
            if (t.peer.index() == r || bytes == 0) {
              continue;
            }
            if (bytes_to_[t.peer.index()] == 0) {
              peers_.push_back(t.peer.value);
            }
            bytes_to_[t.peer.index()] += bytes;
          }
          for (std::int32_t const peer : peers_) {
            flow f{.bytes = std::exchange(bytes_to_[static_cast<std::size_t>(peer)], 0),
                   .from = index,
                   .to = op_of(o.on, o.round, static_cast<std::size_t>(peer)),
                   .from_rank = static_cast<std::int32_t>(r),
                   .to_rank = peer,
                   .network = node_of(batch, r, ranks_per_node) !=
                              node_of(batch, static_cast<std::size_t>(peer), ranks_per_node)};
            if (f.to == no_op) {
              throw run_error(message("rank ", r, " sends to rank ", peer, " in round ", o.round, " of queue ",
                                      name_of(o.on), ", in which rank ", peer, " has no exchange"));
            }
            flows_.push_back(f);
          }
        }
        first_sent_.push_back(static_cast<std::uint32_t>(flows_.size()));
        ++index;
      }
    }
    list_received(index);
  }

  /// Ops of all ranks, exchanges or not.
  [[nodiscard]] std::size_t ops() const noexcept { return first_sent_.size() - 1; }
  [[nodiscard]] std::span<flow const> all() const noexcept { return flows_; }
  [[nodiscard]] flow const& operator[](std::uint32_t f) const noexcept { return flows_[f]; }
  /// Flows that an op sends, as numbers `[begin, end)`.
  [[nodiscard]] item_range sent_by(op_index o) const noexcept { return {first_sent_[o], first_sent_[o + 1]}; }
  /// Numbers of the flows that an op receives, ascending.
  [[nodiscard]] std::span<std::uint32_t const> received_by(op_index o) const noexcept {
    return std::span(received_).subspan(first_received_[o], first_received_[o + 1] - first_received_[o]);
  }

 private:
  [[nodiscard]] static std::int64_t node_of(pool_batch const& batch, std::size_t rank, std::int32_t ranks_per_node) {
    return (batch.first_rank + static_cast<std::int64_t>(rank)) / ranks_per_node;
  }

  /// Notes which op of each rank is which round of which queue.
  void list_rounds(pool_program const& programs) {
    ranks_ = programs.ranks.size();
    rounds_.fill(0);
    for (program const& p : programs.ranks) {
      for (op const& o : p.ops) {
        if (o.kind == op_kind::exchange) {
          std::int32_t& rounds = rounds_[static_cast<std::size_t>(o.on)];
          rounds = std::max(rounds, o.round + 1);
        }
      }
    }
    std::size_t cells = 0;
    for (std::size_t q = 0; q < queue_count; ++q) {
      first_round_[q] = cells;
      cells += static_cast<std::size_t>(rounds_[q]);
    }
    round_ops_.assign(cells * ranks_, no_op);
    op_index index = 0;
    for (std::size_t r = 0; r < ranks_; ++r) {
      for (op const& o : programs.ranks[r].ops) {
        if (o.kind == op_kind::exchange) {
          round_ops_[cell(o.on, o.round, r)] = index;
        }
        ++index;
      }
    }
  }

  [[nodiscard]] std::size_t cell(queue on, std::int32_t round, std::size_t rank) const noexcept {
    return (first_round_[static_cast<std::size_t>(on)] + static_cast<std::size_t>(round)) * ranks_ + rank;
  }
  [[nodiscard]] op_index op_of(queue on, std::int32_t round, std::size_t rank) const noexcept {
    return round_ops_[cell(on, round, rank)];
  }

  void list_received(op_index ops) {
    first_received_.assign(std::size_t{ops} + 1, 0);
    for (flow const& f : flows_) {
      ++first_received_[f.to + 1];
    }
    for (std::size_t o = 0; o < ops; ++o) {
      first_received_[o + 1] += first_received_[o];
    }
    next_.assign(first_received_.begin(), first_received_.end() - 1);
    received_.resize(flows_.size());
    for (std::uint32_t f = 0; f < flows_.size(); ++f) {
      received_[next_[flows_[f].to]++] = f;
    }
  }

  std::vector<flow> flows_;
  /// Shape: `[ops + 1]` each.
  std::vector<std::uint32_t> first_sent_;
  std::vector<std::uint32_t> first_received_;
  std::vector<std::uint32_t> received_;
  std::vector<std::uint32_t> next_;
  /// Shape: `[rounds of all queues, ranks]`.
  std::vector<op_index> round_ops_;
  std::array<std::int32_t, queue_count> rounds_{};
  std::array<std::size_t, queue_count> first_round_{};
  std::size_t ranks_{};
  std::vector<std::int64_t> bytes_to_;
  std::vector<std::int32_t> peers_;
};

}  // namespace libra::sim
