#pragma once

#include <libra/model/packing.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace libra {

/// A piece of a document by its length: what packers sort.
struct sized_piece {
  std::int64_t length{};
  std::size_t index{};  ///< in the list of pieces

  friend constexpr bool operator==(sized_piece const&, sized_piece const&) = default;
};

/// The pieces by falling length, equal ones by index.
///
/// A radix sort: lengths have few bits, and a million pieces sorted by comparison would cost more than packing them.
/// Pre: lengths are not negative. Complexity: linear in the pieces times the digits of the longest.
[[nodiscard]] inline std::vector<sized_piece> longest_first_order(std::span<segment const> pieces) {
  std::int64_t longest = 0;
  for (segment const& p : pieces) {
    longest = std::max(longest, p.length);
  }
  // Sorting by how much shorter than the longest a piece is turns rising keys into falling lengths.
  std::vector<sized_piece> order(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    order[i] = {longest - pieces[i].length, i};
  }
  constexpr int digit_bits = 11;
  constexpr std::size_t digits = std::size_t{1} << digit_bits;
  std::vector<sized_piece> sorted(order.size());
  auto const bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(longest)));
  for (int shift = 0; shift < bits; shift += digit_bits) {
    auto const digit = [&](sized_piece const& p) { return static_cast<std::size_t>(p.length >> shift) % digits; };
    std::array<std::size_t, digits + 1> begin{};
    for (sized_piece const& p : order) {
      ++begin[digit(p) + 1];
    }
    for (std::size_t d = 0; d < digits; ++d) {
      begin[d + 1] += begin[d];
    }
    for (sized_piece const& p : order) {
      sorted[begin[digit(p)]++] = p;
    }
    std::swap(order, sorted);
  }
  for (sized_piece& p : order) {
    p.length = longest - p.length;
  }
  return order;
}

}  // namespace libra
