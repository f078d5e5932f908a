#pragma once

#include <libra/program/ops.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

namespace libra::detail {

inline constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

/// A rank's ops while they are listed: numbers the rounds of each queue and turns waits for ops into counts per queue.
class op_list {
 public:
  /// Appends an op that starts after all of `waits` have finished; `none` and ops of its own queue need no entry.
  std::size_t push(op_kind kind, queue on, std::initializer_list<std::size_t> waits) {
    op next;
    next.kind = kind;
    next.on = on;
    auto& count = count_[static_cast<std::size_t>(on)];
    next.round = kind == op_kind::exchange ? count : 0;
    for (std::size_t const w : waits) {
      if (w != none && ops[w].on != on) {
        auto& after = next.after[static_cast<std::size_t>(ops[w].on)];
        after = std::max(after, position_[w] + 1);
      }
    }
    position_.push_back(count++);
    ops.push_back(next);
    return ops.size() - 1;
  }

  std::vector<op> ops;

 private:
  std::array<std::int32_t, queue_count> count_{};
  std::vector<std::int32_t> position_;
};

}  // namespace libra::detail
