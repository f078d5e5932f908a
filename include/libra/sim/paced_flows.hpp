#pragma once

#include <libra/sim/event_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace libra::sim {

/// Flows that each take a time of their own, whatever else is under way: what one connection carries at most.
///
/// Units: picoseconds. Complexity: starting and ending one is O(log n).
class paced_flows {
 public:
  /// Forgets everything. Keeps its capacity.
  void reset() noexcept { ends_.clear(); }

  void add(std::int64_t end_ps, std::uint32_t id) {
    ends_.push_back({end_ps, id});
    std::ranges::push_heap(ends_, std::greater<>{});
  }

  /// When the next one ends; `never` without any.
  [[nodiscard]] std::int64_t next_ps() const noexcept { return ends_.empty() ? never : ends_.front().at_ps; }

  /// Calls `ended(id)` for every flow that ends at `now_ps`, by id. Pre: `now_ps == next_ps()`.
  template <class Ended>
  void finish(std::int64_t now_ps, Ended ended) {
    while (!ends_.empty() && ends_.front().at_ps <= now_ps) {
      std::ranges::pop_heap(ends_, std::greater<>{});
      std::uint32_t const id = ends_.back().id;
      ends_.pop_back();
      ended(id);
    }
  }

 private:
  struct end {
    std::int64_t at_ps{};
    std::uint32_t id{};

    friend constexpr auto operator<=>(end const&, end const&) = default;
  };

  std::vector<end> ends_;
};

}  // namespace libra::sim
