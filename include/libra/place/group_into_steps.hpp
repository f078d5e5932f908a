#pragma once

#include <libra/core/ids.hpp>
#include <libra/model/placement.hpp>
#include <libra/place/fill.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

/// Deals filled pools to the micro-steps of a global batch: one step waits for its heaviest pool, so the heaviest pools
/// of each size share the first step, and so on. Reorders `bins`.
///
/// Shape: `filled` and `batch` are `[steps, dp]`; a bin's sequences begin at `bin::first` of `filled`. Pre: as many
/// bins of each size as the steps need. Complexity: O(n log n) in the bins. Determinism: equal pools keep their order.
inline void group_into_steps(std::vector<bin>& bins, std::span<sequence_id const> filled, pool_partition const& pools,
                             std::span<sequence_id> batch) {
  std::ranges::stable_sort(
      bins, [](bin const& a, bin const& b) { return a.slots != b.slots ? a.slots > b.slots : bin::lighter(b, a); });
  std::int32_t const largest = bins.front().slots;
  auto large = bins.begin();
  auto small = std::ranges::find_if(bins, [&](bin const& b) { return b.slots < largest; });
  for (auto to = batch.begin(); to != batch.end();) {
    for (std::int32_t g = 0; g < pools.size(); ++g) {
      bin const& from = pools.slots(pool_id(g)) == largest ? *large++ : *small++;
      to = std::copy_n(filled.begin() + static_cast<std::ptrdiff_t>(from.first), from.slots, to);
    }
  }
}

}  // namespace libra
