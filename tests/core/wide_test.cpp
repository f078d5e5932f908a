#include "support/printing.hpp"

#include <libra/core/wide.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace {

using libra::int128;

constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();

static_assert(sizeof(int128) == 16 && sizeof(libra::uint128) == 16);
static_assert(std::is_trivially_copyable_v<int128>);
static_assert(libra::int128_max > 0 && libra::int128_min < 0 && libra::int128_min + libra::int128_max == -1);

TEST_CASE("every digit of a wide integer is printed, the extremes included") {
  CHECK(libra::to_string(0) == "0");
  CHECK(libra::to_string(7) == "7");
  CHECK(libra::to_string(-7) == "-7");
  CHECK(libra::to_string(int64_max) == "9223372036854775807");
  CHECK(libra::to_string(int64_min) == "-9223372036854775808");
  CHECK(libra::to_string(static_cast<int128>(int64_max) + 1) == "9223372036854775808");
  CHECK(libra::to_string(libra::int128_max) == "170141183460469231731687303715884105727");
  CHECK(libra::to_string(libra::int128_min) == "-170141183460469231731687303715884105728");
  CHECK(libra::to_string(libra::int128_min + 1) == "-170141183460469231731687303715884105727");
  int128 power = 1;
  std::string expected = "1";
  for (int digits = 1; digits <= 38; ++digits, power *= 10, expected += '0') {
    CHECK(libra::to_string(power) == expected);
    CHECK(libra::to_string(-power) == '-' + expected);
  }
}

TEST_CASE("fits_int64 ends exactly where int64 does") {
  CHECK(libra::fits_int64(0));
  CHECK(libra::fits_int64(int64_max));
  CHECK(libra::fits_int64(int64_min));
  CHECK_FALSE(libra::fits_int64(static_cast<int128>(int64_max) + 1));
  CHECK_FALSE(libra::fits_int64(static_cast<int128>(int64_min) - 1));
  CHECK_FALSE(libra::fits_int64(libra::int128_max));
  CHECK_FALSE(libra::fits_int64(libra::int128_min));
  CHECK_FALSE(libra::fits_int64(static_cast<int128>(1) << 64));  // all zero in its low half
}

TEST_CASE("ceil_div is the least quotient that covers the numerator") {
  for (int128 n = 0; n <= 60; ++n) {
    for (int128 d = 1; d <= 60; ++d) {
      int128 least = 0;
      while (least * d < n) {
        ++least;
      }
      CHECK(libra::ceil_div(n, d) == least);
    }
  }
  CHECK(libra::ceil_div(libra::int128_max, 2) == (static_cast<int128>(1) << 126));
  CHECK(libra::ceil_div(libra::int128_max, libra::int128_max) == 1);
  CHECK(libra::ceil_div(1, libra::int128_max) == 1);
  CHECK(libra::ceil_div(libra::int128_max, 1) == libra::int128_max);
}

TEST_CASE("ratio divides values that no double holds") {
  CHECK(libra::ratio(1, 2) == 0.5);
  CHECK(libra::ratio((static_cast<int128>(1) << 100) * 3, static_cast<int128>(1) << 100) == 3.0);
  CHECK(libra::ratio(-3, 4) == -0.75);
}

static_assert(libra::ceil_div(7, 2) == 4);
static_assert(libra::fits_int64(-1));
static_assert(libra::ratio(3, 2) == 1.5);

}  // namespace
