#include "support/printing.hpp"

#include <libra/core/isqrt.hpp>
#include <libra/core/random.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

namespace {

using libra::int128;
using libra::isqrt;

TEST_CASE("small roots, one by one") {
  std::int64_t root = 0;
  for (std::int64_t value = 0; value <= 70'000; ++value) {
    root += (root + 1) * (root + 1) <= value ? 1 : 0;
    REQUIRE(isqrt(value) == root);
  }
}

TEST_CASE("the root changes exactly at squares, up to the last that 128 bits hold") {
  auto const check = [](int128 root) {
    int128 const square = root * root;
    CHECK(isqrt(square) == root);
    CHECK(isqrt(square - 1) == root - 1);
    CHECK(isqrt(square + root) == root);  // (root + 1)^2 is at square + 2 root + 1
    CHECK(isqrt(square + 2 * root) == root);
  };
  for (int power = 0; power <= 62; ++power) {
    int128 const near = static_cast<int128>(1) << power;
    check(near);
    check(near + 1);
    if (near > 1) {
      check(near - 1);
    }
  }
  libra::random_bits bits(3);
  for (int i = 0; i < 20'000; ++i) {
    check(static_cast<int128>(bits() >> bits.between(1, 62)) + 1);
  }
}

TEST_CASE("the largest arguments whose root is an int64") {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  int128 const square = static_cast<int128>(largest) * largest;
  CHECK(isqrt(square) == largest);
  CHECK(isqrt(square - 1) == largest - 1);
  CHECK(isqrt((static_cast<int128>(1) << 126) - 1) == largest);
}

static_assert(isqrt(99) == 9 && isqrt(100) == 10 && isqrt(0) == 0);

}  // namespace
