#pragma once

#include <libra/place/batches.hpp>
#include <libra/place/concept.hpp>

#include <span>
#include <string_view>

namespace libra {

/// Leaves every sequence where packing put it: what a trainer does without placement. Complexity: linear.
struct as_packed {
  static constexpr std::string_view name = "as_packed";

  [[nodiscard]] placement operator()(std::span<int128 const> work, layout const& l, pool_partition const& pools) const {
    return packed_order(work.size(), l, pools);
  }
};
static_assert(placer<as_packed>);

}  // namespace libra
