#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace libra {

/// Bytes as text, in place.
[[nodiscard]] inline std::string_view text_of(std::span<std::byte const> bytes) noexcept {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

/// The integer whose little-endian bytes begin at `first`, which need not be aligned.
template <std::integral Integer>
[[nodiscard]] Integer load_little_endian(std::byte const* first) noexcept {
  std::array<std::byte, sizeof(Integer)> bytes;
  std::memcpy(bytes.data(), first, sizeof(Integer));
  if constexpr (std::endian::native == std::endian::big) {
    std::ranges::reverse(bytes);
  }
  return std::bit_cast<Integer>(bytes);
}

/// Appends the little-endian bytes of `value`.
template <std::integral Integer>
void append_little_endian(std::string& out, Integer value) {
  auto bytes = std::bit_cast<std::array<char, sizeof(Integer)>>(value);
  if constexpr (std::endian::native == std::endian::big) {
    std::ranges::reverse(bytes);
  }
  out.append(bytes.data(), bytes.size());
}

}  // namespace libra
