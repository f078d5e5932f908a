#pragma once

#include <libra/core/random.hpp>
#include <libra/core/wide.hpp>

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace libra {

/// 128 bits that stand for what was hashed. Equal content gives equal digests on every platform.
struct digest {
  std::uint64_t high{};
  std::uint64_t low{};

  friend constexpr auto operator<=>(digest const&, digest const&) = default;
};

/// 32 lower-case hexadecimal digits.
[[nodiscard]] inline std::string to_hex(digest value) {
  std::string text(32, '0');
  for (std::size_t i = 0; i < 32; ++i) {
    std::uint64_t const word = i < 16 ? value.high : value.low;
    text[i] = "0123456789abcdef"[(word >> (60 - 4 * (i % 16))) & 15];
  }
  return text;
}

/// Hashes a stream of integers, order included. Not for use against an adversary: it detects plans that differ.
class hasher {
 public:
  template <std::integral Integer>
  constexpr hasher& add(Integer value) noexcept {
    auto const word = static_cast<std::uint64_t>(value);
    return step(word, word);
  }

  /// Adds the fields of a record, order included: for long lists of them, since a record takes little longer than one
  /// integer. The same integers one by one, or in records of another length, give other digests.
  template <std::integral... Integers>
    requires(sizeof...(Integers) > 1)
  constexpr hasher& add(Integers... fields) noexcept {
    // Products of neighbours, each in two unrelated disguises, do not wait for one another as steps do.
    std::array<std::uint64_t, (sizeof...(Integers) + 1) / 2 * 2> words{static_cast<std::uint64_t>(fields)...};
    std::uint64_t high = sizeof...(Integers);
    std::uint64_t low = high;
    for (std::size_t i = 0; i < words.size(); i += 2) {
      high ^= product(words[i] ^ disguise(2 * i), words[i + 1] ^ disguise(2 * i + 2));
      low += product(words[i] ^ disguise(2 * i + 1), words[i + 1] ^ disguise(2 * i + 3));
    }
    return step(high, low);
  }

  constexpr hasher& add(int128 value) noexcept {
    return add(static_cast<std::uint64_t>(static_cast<uint128>(value) >> 64)).add(static_cast<std::uint64_t>(value));
  }

  constexpr hasher& add(std::string_view text) noexcept {
    add(text.size());
    for (char const c : text) {
      add(static_cast<unsigned char>(c));
    }
    return *this;
  }

  constexpr hasher& add(digest value) noexcept { return add(value.high).add(value.low); }

  [[nodiscard]] constexpr digest finish() const noexcept { return {mix64(high_ ^ low_), mix64(low_ + high_)}; }

 private:
  /// Two lanes with unrelated odd multipliers; a collision must happen in both.
  constexpr hasher& step(std::uint64_t high, std::uint64_t low) noexcept {
    high_ = mix64(high_ * 0x9e3779b97f4a7c15U + high + 1);
    low_ = mix64((low_ ^ low) * 0xd6e8feb86659fd93U + 0x2545f4914f6cdd1dU);
    return *this;
  }
  /// Both halves of a product.
  [[nodiscard]] static constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) noexcept {
    auto const wide = uint128{a} * b;
    return static_cast<std::uint64_t>(wide >> 64) ^ static_cast<std::uint64_t>(wide);
  }
  [[nodiscard]] static constexpr std::uint64_t disguise(std::size_t i) noexcept {
    return mix64(0x452821e638d01377U + i * 0x9e3779b97f4a7c15U);
  }

  std::uint64_t high_{0x243f6a8885a308d3U};
  std::uint64_t low_{0x13198a2e03707344U};
};

}  // namespace libra
