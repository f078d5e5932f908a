#pragma once

#include <bit>
#include <cstdint>

namespace libra::host {

/// The upper half of a float: 8 bits of significand. Only stored; arithmetic is on floats.
struct bfloat16 {
  std::uint16_t bits{};

  constexpr bfloat16() = default;
  /// Rounds to nearest, ties to even; what is not a number stays so.
  constexpr explicit bfloat16(float x) noexcept {
    auto const word = std::bit_cast<std::uint32_t>(x);
    bool const nan = (word & 0x7fffffffU) > 0x7f800000U;
    std::uint32_t const rounded = word + 0x7fffU + ((word >> 16) & 1U);
    bits = static_cast<std::uint16_t>(nan ? (word >> 16) | 0x40U : rounded >> 16);
  }
  /// Exact.
  constexpr explicit operator float() const noexcept { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

  friend constexpr bool operator==(bfloat16, bfloat16) = default;
};
static_assert(sizeof(bfloat16) == 2);

}  // namespace libra::host
