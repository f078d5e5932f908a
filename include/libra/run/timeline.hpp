#pragma once

#include <libra/program/ops.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace libra {

/// What an executor tells of an op.
enum class op_step : std::uint8_t {
  start,   ///< it begins: a kernel is called, a round is started
  wait,    ///< exchanges: nothing else can be done before it has finished
  finish,  ///< it has finished, as far as the rank can tell
};

/// Something that is told every step of every op, on the rank's own thread.
template <class O>
concept op_observer = std::invocable<O&, op const&, op_step>;

/// Watches nothing and costs nothing.
struct no_observer {
  constexpr void operator()(op const&, op_step) const noexcept {}
};
static_assert(op_observer<no_observer>);

/// When an op ran. Units: seconds since the timeline's origin.
struct op_time {
  op_kind kind{};
  queue on{};
  std::int32_t round{};
  double start_seconds{};
  double end_seconds{};
  /// Exchanges: how long the rank stood still for it.
  double blocked_seconds{};
};

/// Records when each op of a rank ran.
///
/// A kernel's op is timed around the call that issues it, an exchange from its start until the rank knows that it has
/// finished.
template <class Clock = std::chrono::steady_clock>
class timeline {
 public:
  explicit timeline(typename Clock::time_point origin = Clock::now()) : origin_(origin) {}

  void operator()(op const& what, op_step step) {
    double const now = std::chrono::duration<double>(Clock::now() - origin_).count();
    std::size_t& at = open_[static_cast<std::size_t>(what.on)];
    switch (step) {
      case op_step::start:
        at = ops_.size();
        ops_.push_back({what.kind, what.on, what.round, now, now, 0});
        break;
      case op_step::wait:
        ops_[at].blocked_seconds -= now;
        waiting_[static_cast<std::size_t>(what.on)] = true;
        break;
      case op_step::finish:
        ops_[at].end_seconds = now;
        if (bool& waiting = waiting_[static_cast<std::size_t>(what.on)]; waiting) {
          ops_[at].blocked_seconds += now;
          waiting = false;
        }
        break;
    }
  }

  [[nodiscard]] std::span<op_time const> ops() const noexcept { return ops_; }
  /// Forgets what was recorded and keeps the capacity.
  void clear() noexcept { ops_.clear(); }

 private:
  typename Clock::time_point origin_;
  std::vector<op_time> ops_;
  // A queue runs one op at a time.
  std::array<std::size_t, queue_count> open_{};
  std::array<bool, queue_count> waiting_{};
};
static_assert(op_observer<timeline<>>);

/// The share of the time of exchanges during which their ranks did not stand still for them; 1 without exchanges.
[[nodiscard]] inline double hidden_share(std::span<op_time const> ops) noexcept {
  double total = 0;
  double exposed = 0;
  for (op_time const& o : ops) {
    if (o.kind == op_kind::exchange) {
      total += o.end_seconds - o.start_seconds;
      exposed += o.blocked_seconds;
    }
  }
  return total > 0 ? std::clamp(1 - exposed / total, 0.0, 1.0) : 1.0;
}

}  // namespace libra
