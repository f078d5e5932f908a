#pragma once

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace libra {

/// A pseudo-random permutation of `[0, size)` that is computed, not stored: the shuffled order of a list of any length.
///
/// Two halves of an index's bits take turns in changing one another, eight times, by a keyed hash; every turn can be
/// undone, so that distinct indices stay distinct. What falls outside `[0, size)` is permuted again until it falls
/// inside, less than once on average. Determinism: the same size and key give the same order everywhere.
/// Complexity: constant memory; constant time on average. Not for use against an adversary.
/// Source: M. Luby and C. Rackoff, "How to construct pseudorandom permutations from pseudorandom functions" (1988);
/// cycle walking: J. Black and P. Rogaway, "Ciphers with arbitrary finite domains" (2002).
class index_permutation {
 public:
  /// Errors: `input_error` unless `size >= 0`.
  constexpr index_permutation(std::int64_t size, std::uint64_t key) : size_(static_cast<std::uint64_t>(size)) {
    require(size >= 0, "size is ", size, ", expected at least 0");
    int const bits = size <= 1 ? 0 : static_cast<int>(std::bit_width(size_ - 1));
    low_bits_ = bits / 2;
    high_bits_ = bits - low_bits_;
    random_bits stream(key);
    for (std::uint64_t& k : keys_) k = stream();
  }

  [[nodiscard]] constexpr std::int64_t size() const noexcept { return static_cast<std::int64_t>(size_); }

  /// The index at `position` of the shuffled order. Pre: `0 <= position < size()`.
  [[nodiscard]] constexpr std::int64_t operator[](std::int64_t position) const noexcept {
    auto index = static_cast<std::uint64_t>(position);
    do {
      index = permuted(index);
    } while (index >= size_);
    return static_cast<std::int64_t>(index);
  }

 private:
  [[nodiscard]] constexpr std::uint64_t permuted(std::uint64_t index) const noexcept {
    std::uint64_t const low_mask = (std::uint64_t{1} << low_bits_) - 1;
    std::uint64_t const high_mask = (std::uint64_t{1} << high_bits_) - 1;
    std::uint64_t low = index & low_mask;
    std::uint64_t high = index >> low_bits_;
    for (std::size_t turn = 0; turn < keys_.size(); turn += 2) {
      low = (low ^ mix64(high + keys_[turn])) & low_mask;
      high = (high ^ mix64(low + keys_[turn + 1])) & high_mask;
    }
    return high << low_bits_ | low;
  }

  std::uint64_t size_;
  int low_bits_{};
  int high_bits_{};
  std::array<std::uint64_t, 8> keys_{};
};

}  // namespace libra
