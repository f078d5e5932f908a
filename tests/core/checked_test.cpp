#include "support/printing.hpp"

#include <libra/core/checked.hpp>
#include <libra/core/random.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace {

using libra::int128;
using libra::int128_max;
using libra::int128_min;

constexpr int128 two_to(int power) { return static_cast<int128>(1) << power; }

TEST_CASE("sums up to the last bit pass, one more is an error with both operands") {
  CHECK(libra::checked_add(int128_max - 1, 1) == int128_max);
  CHECK(libra::checked_add(int128_min + 1, -1) == int128_min);
  CHECK(libra::checked_add(int128_max, int128_min) == -1);
  CHECK_THROWS_WITH_AS(static_cast<void>(libra::checked_add(int128_max, 1)),
                       "sum of 170141183460469231731687303715884105727 and 1 exceeds 128 bits", libra::range_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(libra::checked_add(-2, int128_min)),
                       "sum of -2 and -170141183460469231731687303715884105728 exceeds 128 bits", libra::range_error);
}

TEST_CASE("products up to the last bit pass, beyond is an error with both operands") {
  CHECK(libra::checked_mul(0, int128_min) == 0);
  CHECK(libra::checked_mul(int128_max, 0) == 0);
  CHECK(libra::checked_mul(int128_max, 1) == int128_max);
  CHECK(libra::checked_mul(int128_max, -1) == -int128_max);
  CHECK(libra::checked_mul(1, int128_max) == int128_max);
  CHECK(libra::checked_mul(two_to(63), two_to(63)) == two_to(126));
  CHECK(libra::checked_mul(-two_to(63), two_to(63)) == -two_to(126));
  CHECK(libra::checked_mul(two_to(100), two_to(26)) == two_to(126));
  // 2^127 - 1 is prime, so the largest products below it are one or more short.
  CHECK(libra::checked_mul(int128_max / 3, 3) == int128_max - int128_max % 3);
  CHECK(libra::checked_mul(3, int128_max / 3) == int128_max - int128_max % 3);
  CHECK_THROWS_AS(static_cast<void>(libra::checked_mul(int128_max / 3 + 1, 3)), libra::range_error);
  CHECK_THROWS_AS(static_cast<void>(libra::checked_mul(3, int128_max / 3 + 1)), libra::range_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(libra::checked_mul(two_to(64), two_to(63))),
                       "product of 18446744073709551616 and 9223372036854775808 exceeds 128 bits", libra::range_error);
  CHECK_THROWS_AS(static_cast<void>(libra::checked_mul(-two_to(64), -two_to(63))), libra::range_error);
  CHECK_THROWS_AS(static_cast<void>(libra::checked_mul(int128_max, int128_max)), libra::range_error);
  CHECK_THROWS_AS(static_cast<void>(libra::checked_mul(int128_min, -1)), libra::range_error);
  CHECK_THROWS_AS(static_cast<void>(libra::checked_mul(int128_min, 2)), libra::range_error);
}

TEST_CASE("checked products agree with those of the compiler where these fit") {
  libra::random_bits bits(11);
  for (int i = 0; i < 20'000; ++i) {
    int const width = static_cast<int>(bits.between(1, 126));
    auto const draw = [&](int at_most) {
      auto const word = (static_cast<libra::uint128>(bits()) << 64) | bits();
      auto const value = static_cast<int128>(word >> (128 - at_most));
      return bits.below(2) == 0 ? value : -value;
    };
    int128 const a = draw(width);
    int128 const b = draw(127 - width);
    CHECK(libra::checked_mul(a, b) == a * b);
  }
}

TEST_CASE("narrowing keeps what fits and names the rest") {
  constexpr std::array<std::int64_t, 5> fitting{0, 1, -1, std::numeric_limits<std::int64_t>::max(),
                                                std::numeric_limits<std::int64_t>::min()};
  for (std::int64_t const value : fitting) {
    CHECK(libra::checked_int64(value, "it") == value);
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(libra::checked_int64(two_to(63), "the sum")),
                       "the sum is 9223372036854775808, beyond the 64 bits it must fit", libra::range_error);
  CHECK_THROWS_AS(static_cast<void>(libra::checked_int64(-two_to(63) - 1, "it")), libra::range_error);
}

static_assert(libra::checked_add(2, 3) == 5);
static_assert(libra::checked_mul(two_to(70), 5) == two_to(70) * 5);
static_assert(libra::checked_int64(-5, "it") == -5);

}  // namespace
