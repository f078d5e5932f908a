#pragma once

#include <libra/core/checked.hpp>
#include <libra/core/wide.hpp>

#include <cstdint>

namespace libra {

/// Which half of a training step an attention call belongs to.
enum class pass : std::uint8_t { forward, backward };

/// Attention work of one tile. Units: the cost model's (pairs, or picoseconds of one rank).
struct work {
  std::int64_t forward{};
  std::int64_t backward{};

  [[nodiscard]] constexpr std::int64_t of(pass p) const noexcept { return p == pass::forward ? forward : backward; }
  friend constexpr bool operator==(work const&, work const&) = default;
};

/// A checked sum of tile work.
struct wide_work {
  int128 forward{};
  int128 backward{};

  [[nodiscard]] constexpr int128 of(pass p) const noexcept { return p == pass::forward ? forward : backward; }
  /// Forward and backward together: the weight that placement balances. Errors: `range_error` beyond 128 bits.
  [[nodiscard]] constexpr int128 total() const { return checked_add(forward, backward); }

  constexpr wide_work& operator+=(work const& w) {
    forward = checked_add(forward, w.forward);
    backward = checked_add(backward, w.backward);
    return *this;
  }
  constexpr wide_work& operator+=(wide_work const& w) {
    forward = checked_add(forward, w.forward);
    backward = checked_add(backward, w.backward);
    return *this;
  }
  friend constexpr bool operator==(wide_work const&, wide_work const&) = default;
};

/// `w` taken `count` times. Errors: `range_error` beyond 128 bits.
[[nodiscard]] constexpr wide_work scaled(work const& w, std::int64_t count) {
  return {checked_mul(w.forward, count), checked_mul(w.backward, count)};
}

}  // namespace libra
