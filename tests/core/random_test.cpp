#include <libra/core/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace {

using libra::random_bits;

static_assert(std::uniform_random_bit_generator<random_bits>);

// Golden values: computed by an independent program from the authors' definitions of xoshiro256** and SplitMix64. They
// never change: every rank must draw the same numbers, and shuffled orders are part of a job's reproducibility.

TEST_CASE("the stream of a seed is the authors' stream") {
  auto const check = [](std::uint64_t seed, std::array<std::uint64_t, 3> const& expected) {
    random_bits bits(seed);
    for (std::uint64_t const value : expected) {
      CHECK(bits() == value);
    }
  };
  check(0, {0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0});
  check(2026, {0x92e011592e98ae15, 0x489f37946d6d18d8, 0xd0009e279d9cdeda});
  check(std::numeric_limits<std::uint64_t>::max(), {0x8f5520d52a7ead08, 0xc476a018caa1802d, 0x81de31c0d260469e});
}

TEST_CASE("mix64 is the finaliser of SplitMix64") {
  // The published first outputs of SplitMix64 from seed 0.
  CHECK(libra::mix64(0x9e3779b97f4a7c15) == 0xe220a8397b1dcdaf);
  CHECK(libra::mix64(0x9e3779b97f4a7c15 * 2) == 0x6e789e6aa1b965f4);
  CHECK(libra::mix64(0) == 0);
}

TEST_CASE("bounded draws have golden values too") {
  random_bits small(7);
  std::array<std::uint64_t, 20> drawn{};
  std::ranges::generate(drawn, [&] { return small.below(10); });
  CHECK(drawn == std::array<std::uint64_t, 20>{7, 2, 8, 9, 9, 8, 0, 1, 4, 1, 5, 7, 9, 8, 4, 5, 2, 4, 1, 1});
  random_bits large(7);  // a bound that rejects nearly half of the words
  std::array<std::uint64_t, 4> rejected{};
  std::ranges::generate(rejected, [&] { return large.below((std::uint64_t{1} << 63) + 1); });
  CHECK(rejected == std::array<std::uint64_t, 4>{6461677535414237997, 7744196453246319819, 9049029322324588832,
                                                 9139072988219048332});
}

TEST_CASE("every value below a bound is drawn, about equally often") {
  random_bits bits(1);
  for (std::uint64_t const bound : {1U, 2U, 3U, 7U, 16U}) {
    std::vector<int> count(bound);
    for (int i = 0; i < 16'000; ++i) {
      ++count.at(bits.below(bound));
    }
    for (int const c : count) {
      CHECK(c * static_cast<int>(bound) > 14'000);
      CHECK(c * static_cast<int>(bound) < 18'000);
    }
  }
}

TEST_CASE("intervals hold both of their ends") {
  random_bits bits(2);
  std::array<bool, 5> seen{};
  for (int i = 0; i < 1000; ++i) {
    std::int64_t const value = bits.between(-2, 2);
    REQUIRE(value >= -2);
    REQUIRE(value <= 2);
    seen.at(static_cast<std::size_t>(value + 2)) = true;
  }
  CHECK(std::ranges::count(seen, true) == 5);
  CHECK(bits.between(9, 9) == 9);
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  CHECK(bits.between(lowest, lowest + 1) <= lowest + 1);
  CHECK(bits.between(lowest + 1, std::numeric_limits<std::int64_t>::max()) > lowest);
}

template <std::size_t Size>
std::array<int, Size> shuffled(std::uint64_t seed) {
  std::array<int, Size> values{};
  std::iota(values.begin(), values.end(), 0);
  random_bits bits(seed);
  libra::shuffle(std::span<int>(values), bits);
  return values;
}

TEST_CASE("shuffles have golden values") {
  CHECK(shuffled<10>(1) == std::array{3, 6, 1, 5, 0, 9, 2, 8, 4, 7});
  CHECK(shuffled<16>(2026) == std::array{14, 0, 2, 3, 12, 5, 1, 6, 7, 10, 8, 15, 13, 11, 4, 9});
  CHECK(shuffled<1>(5) == std::array{0});
  random_bits bits(5);
  libra::shuffle(std::span<int>(), bits);
}

TEST_CASE("every permutation of three comes up, about equally often") {
  std::array<int, 27> count{};
  random_bits bits(8);
  for (int i = 0; i < 6000; ++i) {
    std::array values{0, 1, 2};
    libra::shuffle(std::span<int>(values), bits);
    ++count.at(static_cast<std::size_t>(values[0] * 9 + values[1] * 3 + values[2]));
  }
  CHECK(std::ranges::count_if(count, [](int c) { return c > 850 && c < 1150; }) == 6);
  CHECK(std::ranges::count(count, 0) == 21);
}

static_assert([] {
  random_bits bits(0);
  return bits() == 0x99ec5f36cb75f2b4;
}());

}  // namespace
