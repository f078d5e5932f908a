#pragma once

#include <libra/core/wide.hpp>
#include <libra/model/packing.hpp>
#include <libra/pack/longest_first_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra {

/// The fewest sequences that can hold the segments of a packing: no packer uses less without cutting them further.
///
/// Segments longer than half a window never share a sequence; what the shorter ones of at least K tokens need beyond
/// the room that is left beside them takes more. The best K is searched. Complexity: linear after sorting.
/// Source: the bound L2 of Martello and Toth, "Lower bounds and reduction procedures for the bin packing problem",
/// 1990.
[[nodiscard]] inline std::int64_t bin_lower_bound(packing const& packed) {
  std::vector<sized_piece> const order = longest_first_order(packed.sequences.values());
  std::int64_t const window = packed.window_tokens;
  auto const count = static_cast<std::int64_t>(order.size());
  std::int64_t large = 0;  // longer than half a window
  while (large < count &&
         order[static_cast<std::size_t>(large)].length > window - order[static_cast<std::size_t>(large)].length) {
    ++large;
  }
  std::int64_t alone = large;  // of these, the ones that K tokens do not fit beside come first
  int128 room = 0;             // beside the others
  int128 small = 0;            // tokens of short segments of at least K
  std::int64_t bound = large;
  for (std::int64_t k = large; k < count; ++k) {
    std::int64_t const least = order[static_cast<std::size_t>(k)].length;
    small += least;
    while (alone > 0 && order[static_cast<std::size_t>(alone - 1)].length <= window - least) {
      --alone;
      room += window - order[static_cast<std::size_t>(alone)].length;
    }
    if (small > room) {
      bound = std::max(bound, large + static_cast<std::int64_t>(ceil_div(small - room, window)));
    }
  }
  return bound;
}

}  // namespace libra
