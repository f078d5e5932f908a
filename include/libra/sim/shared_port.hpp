#pragma once

#include <libra/sim/event_queue.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace libra::sim {

/// A port whose bandwidth its transfers share equally (processor sharing).
///
/// A transfer asks for the time that it would take alone. Virtual time counts the service that every transfer on the
/// port has had; with n of them it runs n times slower than the clock, and a transfer ends when virtual time reaches
/// its start plus what it asked for. So an arrival or an end changes one number, not the rate of every transfer.
///
/// Units: picoseconds. Transfers that start together end exactly when they should; every later arrival may delay an end
/// by a picosecond a transfer, and none makes the port faster than its bandwidth.
/// Complexity: an arrival is O(log n) plus a short move, an end is constant.
class shared_port {
 public:
  /// Forgets everything. Keeps its capacity.
  void reset() noexcept {
    waiting_.clear();
    busy_ps_ = 0;
  }

  /// A transfer arrives. Pre: `now_ps` never falls, and does not pass `next_ps()`; `service_ps >= 1`.
  void add(std::int64_t now_ps, std::int64_t service_ps, std::uint32_t id) {
    if (waiting_.empty()) {
      now_ps_ = now_ps;
      virtual_ps_ = 0;
      part_ = 0;
      parts_ = 1;
    }
    advance(now_ps);
    request const added{virtual_ps_ + (part_ > 0 ? 1 : 0) + service_ps, id};
    // Last comes out first, and of equals the one that came first.
    auto const at = std::ranges::lower_bound(waiting_, added.until_ps, std::greater<>{}, &request::until_ps);
    waiting_.insert(at, added);
  }

  /// When the next transfer ends unless another arrives before; `never` without transfers.
  [[nodiscard]] std::int64_t next_ps() const noexcept {
    if (waiting_.empty()) {
      return never;
    }
    auto const n = static_cast<std::int64_t>(waiting_.size());
    return now_ps_ + (waiting_.back().until_ps - virtual_ps_) * n - part_of(n);
  }

  /// Calls `ended(id)` for every transfer that ends at `now_ps`. Pre: `now_ps == next_ps()`.
  template <class Ended>
  void finish(std::int64_t now_ps, Ended ended) {
    advance(now_ps);
    while (!waiting_.empty() && waiting_.back().until_ps <= virtual_ps_) {
      std::uint32_t const id = waiting_.back().id;
      waiting_.pop_back();
      ended(id);
    }
  }

  /// How long the port has carried anything.
  [[nodiscard]] std::int64_t busy_ps() const noexcept { return busy_ps_; }

 private:
  struct request {
    std::int64_t until_ps{};  ///< virtual
    std::uint32_t id{};
  };

  /// Virtual time beyond `virtual_ps_`, in n-ths of a picosecond, rounded down.
  [[nodiscard]] std::int64_t part_of(std::int64_t n) const noexcept { return n == parts_ ? part_ : part_ * n / parts_; }

  void advance(std::int64_t now_ps) noexcept {
    std::int64_t const elapsed = now_ps - now_ps_;
    if (elapsed == 0) {
      return;
    }
    auto const n = static_cast<std::int64_t>(waiting_.size());
    std::int64_t const served = part_of(n) + elapsed;
    virtual_ps_ += served / n;
    part_ = served % n;
    parts_ = n;
    busy_ps_ += elapsed;
    now_ps_ = now_ps;
  }

  /// By descending end, so that the next to end is at the back.
  std::vector<request> waiting_;
  std::int64_t now_ps_{};
  std::int64_t virtual_ps_{};
  std::int64_t part_{};
  std::int64_t parts_{1};
  std::int64_t busy_ps_{};
};

}  // namespace libra::sim
