#pragma once

#include <libra/program/ops.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

/// What is certainly finished when an op of a rank starts, whatever the speeds: its queue's earlier ops, the ops it
/// waits for, and what those waited for.
///
/// Complexity: linear in the ops. Pre: each op's `after` names earlier ops only (the verifier checks it).
class op_order {
 public:
  /// How many ops of each queue.
  using counts = std::array<std::int32_t, queue_count>;

  op_order() = default;
  explicit op_order(std::span<op const> ops) {
    std::array<std::vector<std::size_t>, queue_count> in_queue;
    position_.reserve(ops.size());
    finished_.reserve(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      auto const own = static_cast<std::size_t>(ops[i].on);
      counts finished{};
      auto const include = [&](std::size_t queue, std::size_t count) {
        if (count == 0) {
          return;
        }
        std::size_t const last = in_queue[queue][count - 1];
        for (std::size_t q = 0; q < queue_count; ++q) {
          finished[q] = std::max(finished[q], finished_[last][q]);
        }
        finished[queue] = std::max(finished[queue], static_cast<std::int32_t>(count));
      };
      for (std::size_t q = 0; q < queue_count; ++q) {
        include(q, q == own ? in_queue[own].size() : static_cast<std::size_t>(ops[i].after[q]));
      }
      position_.push_back({own, static_cast<std::int32_t>(in_queue[own].size())});
      finished_.push_back(finished);
      in_queue[own].push_back(i);
    }
  }

  /// True when op `a` has certainly finished before op `b` starts.
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const noexcept {
    return finished_[b][position_[a].queue] > position_[a].index;
  }
  /// What has certainly finished before an op starts.
  [[nodiscard]] counts const& finished_before(std::size_t o) const noexcept { return finished_[o]; }
  /// What has finished once an op has: its queue up to it, and nothing else is said.
  [[nodiscard]] counts through(std::size_t o) const noexcept {
    counts c{};
    c[position_[o].queue] = position_[o].index + 1;
    return c;
  }

 private:
  struct place {
    std::size_t queue{};
    std::int32_t index{};
  };
  std::vector<place> position_;
  std::vector<counts> finished_;
};

}  // namespace libra
