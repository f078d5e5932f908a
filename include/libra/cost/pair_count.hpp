#pragma once

#include <libra/core/checked.hpp>
#include <libra/cost/concept.hpp>

#include <string_view>

namespace libra {

/// Counts visible query-key pairs: 2 forward and 5 backward per pair and query head.
///
/// The ratio is that of the matrix products: two of them forward, five backward. Exact and additive: cutting a tile
/// costs nothing. Units: products of a pair. Errors: `range_error` naming the tile beyond int64. Complexity: constant.
struct pair_count {
  static constexpr std::string_view name = "pair_count";

  [[nodiscard]] constexpr work operator()(tile_shape const& t) const {
    int128 const per_head = t.mask.pairs(t.q_begin, t.q_end, t.length);
    if (!fits_int64(per_head) || !fits_int64(per_head * t.heads * 5)) {
      throw range_error(message("work of rows [", t.q_begin, ", ", t.q_end, ") of a segment of ", t.length,
                                " tokens times ", t.heads, " heads is ", per_head, " pairs a head, beyond 64 bits"));
    }
    int128 const pairs = per_head * t.heads;
    return {static_cast<std::int64_t>(pairs * 2), static_cast<std::int64_t>(pairs * 5)};
  }
};
static_assert(cost_model<pair_count>);

}  // namespace libra
