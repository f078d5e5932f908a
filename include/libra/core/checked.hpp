#pragma once

#include <libra/core/error.hpp>
#include <libra/core/wide.hpp>

#include <cstdint>

namespace libra {

/// Sum of two wide integers. Errors: `range_error` naming both operands when it does not fit.
[[nodiscard]] constexpr int128 checked_add(int128 a, int128 b) {
  int128 sum{};
  if (__builtin_add_overflow(a, b, &sum)) {
    throw range_error(message("sum of ", a, " and ", b, " exceeds 128 bits"));
  }
  return sum;
}

/// Product of two wide integers. Errors: `range_error` naming both operands when it does not fit.
[[nodiscard]] constexpr int128 checked_mul(int128 a, int128 b) {
  if (fits_int64(a) && fits_int64(b)) {
    return a * b;  // 64 by 64 bits always fits, and the test below needs a slow division
  }
  // Not __builtin_mul_overflow: for 128 bits clang calls a runtime routine that libgcc lacks.
  auto const magnitude = [](int128 x) { return x < 0 ? ~static_cast<uint128>(x) + 1 : static_cast<uint128>(x); };
  auto const limit = static_cast<uint128>(int128_max);
  if (b != 0 && magnitude(a) > limit / magnitude(b)) {
    throw range_error(message("product of ", a, " and ", b, " exceeds 128 bits"));
  }
  return a * b;
}

/// Narrows a wide integer. Errors: `range_error` naming `what` and the value when it does not fit.
[[nodiscard]] constexpr std::int64_t checked_int64(int128 value, char const* what) {
  if (!fits_int64(value)) {
    throw range_error(message(what, " is ", value, ", beyond the 64 bits it must fit"));
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace libra
