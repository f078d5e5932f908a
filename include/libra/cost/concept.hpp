#pragma once

#include <libra/model/tile.hpp>
#include <libra/model/work.hpp>

#include <concepts>

namespace libra {

/// A cost model: a callable that says how much work a tile is.
///
/// Integers only, so that every rank and compiler plans alike. Pure: the same tile always costs the same. Both parts
/// are non-negative, and cutting a tile never lowers the sum. `range_error` when a part does not fit int64.
template <class Cost>
concept cost_model = std::copy_constructible<Cost> && requires(Cost const& cost, tile_shape const& tile) {
  { cost(tile) } -> std::same_as<work>;
};

/// A cost model that may count time: `counts_picoseconds()` says whether it does, so that work compares with exchanges.
template <class Cost>
concept timing_cost_model = cost_model<Cost> && requires(Cost const& cost) {
  { cost.counts_picoseconds() } -> std::convertible_to<bool>;
};

/// True where work is picoseconds of a rank.
template <cost_model Cost>
[[nodiscard]] constexpr bool counts_time(Cost const& cost) {
  if constexpr (timing_cost_model<Cost>) {
    return cost.counts_picoseconds();
  } else {
    return false;
  }
}

namespace archetype {

/// The least that satisfies `cost_model`.
struct cost {
  work operator()(tile_shape const&) const { return {}; }
};
static_assert(cost_model<cost>);

}  // namespace archetype
}  // namespace libra
