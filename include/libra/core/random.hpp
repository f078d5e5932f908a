#pragma once

#include <libra/core/wide.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

namespace libra {

/// Scrambles a 64-bit word so that every input bit reaches every output bit.
///
/// Source: the finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Pseudo-random bits with the same values on every compiler and platform.
///
/// The standard library fixes its engines but not its distributions; this type brings both.
/// Source: xoshiro256** (Blackman, Vigna, "Scrambled linear pseudorandom number generators", 2021), seeded by
/// SplitMix64.
class random_bits {
 public:
  using result_type = std::uint64_t;

  constexpr explicit random_bits(std::uint64_t seed) noexcept {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15U;
      word = mix64(seed);
    }
  }

  [[nodiscard]] static constexpr result_type min() noexcept { return 0; }
  [[nodiscard]] static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }

  constexpr result_type operator()() noexcept {
    std::uint64_t const result = std::rotl(state_[1] * 5, 7) * 9;
    std::uint64_t const shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// A uniform integer in `[0, bound)`. Pre: `bound > 0`.
  ///
  /// Source: multiply-and-reject (Lemire, "Fast random integer generation in an interval", 2019).
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    std::uint64_t const reject_under = (std::uint64_t{0} - bound) % bound;
    for (;;) {
      uint128 const product = static_cast<uint128>((*this)()) * bound;
      if (static_cast<std::uint64_t>(product) >= reject_under) {
        return static_cast<std::uint64_t>(product >> 64);
      }
    }
  }

  /// A uniform integer in `[first, last]`. Pre: `first <= last`, and the interval holds fewer than 2^64 integers.
  constexpr std::int64_t between(std::int64_t first, std::int64_t last) noexcept {
    auto const low = static_cast<std::uint64_t>(first);
    return static_cast<std::int64_t>(low + below(static_cast<std::uint64_t>(last) - low + 1));
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

/// Permutes `values` uniformly (Fisher and Yates), the same way on every platform.
template <class T>
constexpr void shuffle(std::span<T> values, random_bits& bits) {
  for (std::size_t i = values.size(); i > 1; --i) {
    using std::swap;
    swap(values[i - 1], values[static_cast<std::size_t>(bits.below(i))]);
  }
}

}  // namespace libra
