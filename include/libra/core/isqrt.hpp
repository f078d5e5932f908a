#pragma once

#include <libra/core/wide.hpp>

#include <bit>
#include <cstdint>

namespace libra {

/// Largest integer whose square is at most `value`.
///
/// Complexity: a handful of Newton steps. Pre: `0 <= value < 2^126`, so that the root fits. Determinism: integers only,
/// so the same on every platform.
[[nodiscard]] constexpr std::int64_t isqrt(int128 value) noexcept {
  if (value <= 0) {
    return 0;
  }
  auto const n = static_cast<uint128>(value);
  auto const high = static_cast<std::uint64_t>(n >> 64);
  int const bits = high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                             : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n)));
  // Starts at or above the root; Newton's iteration then falls monotonically until it reaches the floor.
  uint128 root = uint128{1} << ((bits + 1) / 2);
  for (;;) {
    uint128 const next = (root + n / root) / 2;
    if (next >= root) {
      return static_cast<std::int64_t>(root);
    }
    root = next;
  }
}

}  // namespace libra
