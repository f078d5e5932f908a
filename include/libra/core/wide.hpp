#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace libra {

/// Signed 128-bit integer: the type of every sum of work. One tile's work fits int64, a global batch's need not.
__extension__ typedef __int128 int128;
/// Unsigned 128-bit integer.
__extension__ typedef unsigned __int128 uint128;

inline constexpr int128 int128_max = static_cast<int128>(~uint128{0} >> 1);
inline constexpr int128 int128_min = -int128_max - 1;

/// Decimal digits of a wide integer. The standard library prints none wider than 64 bits.
[[nodiscard]] inline std::string to_string(int128 value) {
  // Negating the minimum overflows, so the magnitude is formed as an unsigned value.
  uint128 magnitude = value < 0 ? ~static_cast<uint128>(value) + 1 : static_cast<uint128>(value);
  char digits[40];
  char* first = digits + sizeof digits;
  do {
    *--first = static_cast<char>('0' + static_cast<int>(magnitude % 10));
    magnitude /= 10;
  } while (magnitude != 0);
  if (value < 0) {
    *--first = '-';
  }
  return {first, digits + sizeof digits};
}

/// True when `value` is representable as int64.
[[nodiscard]] constexpr bool fits_int64(int128 value) noexcept {
  return value >= std::numeric_limits<std::int64_t>::min() && value <= std::numeric_limits<std::int64_t>::max();
}

/// Quotient rounded towards plus infinity. Pre: `numerator >= 0`, `denominator > 0`.
[[nodiscard]] constexpr int128 ceil_div(int128 numerator, int128 denominator) noexcept {
  return numerator / denominator + (numerator % denominator != 0 ? 1 : 0);
}

/// The ratio of two wide integers as a double, for reports only: no decision reads it.
[[nodiscard]] constexpr double ratio(int128 numerator, int128 denominator) noexcept {
  return static_cast<double>(numerator) / static_cast<double>(denominator);
}

}  // namespace libra
