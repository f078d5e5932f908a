#pragma once

#include <libra/place/batches.hpp>
#include <libra/place/concept.hpp>
#include <libra/place/fill.hpp>
#include <libra/place/group_into_steps.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace libra {

/// Fills all pools of a global batch at once, longest processing time first, then groups pools of like weight into
/// micro-steps. Complexity: O(n log n) in the sequences.
struct longest_first {
  static constexpr std::string_view name = "longest_first";

  [[nodiscard]] placement operator()(std::span<int128 const> work, layout const& l, pool_partition const& pools) const {
    placement placed = packed_order(work.size(), l, pools);
    auto const per_batch = static_cast<std::size_t>(l.sequences_per_batch());
    std::vector<sequence_id> filled(per_batch);
    for (std::size_t first = 0; first < placed.at.size(); first += per_batch) {
      place_batch(std::span(placed.at).subspan(first, per_batch), filled, work, l, pools);
    }
    return placed;
  }

  /// Replaces the packed order of one global batch by the placement. `filled` is scratch of the same size.
  static void place_batch(std::span<sequence_id> batch, std::vector<sequence_id>& filled, std::span<int128 const> work,
                          layout const& l, pool_partition const& pools) {
    std::vector<bin> bins;
    std::size_t first = 0;
    for (std::int32_t m = 0; m < l.micro_steps; ++m) {
      for (std::int32_t g = 0; g < pools.size(); ++g) {
        bins.push_back({.first = first, .slots = pools.slots(pool_id(g))});
        first += static_cast<std::size_t>(pools.slots(pool_id(g)));
      }
    }
    sort_heaviest_first(batch, work);
    fill_longest_first(batch, work, bins, filled);

    group_into_steps(bins, filled, pools, batch);
  }
};
static_assert(placer<longest_first>);

}  // namespace libra
