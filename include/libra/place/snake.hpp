#pragma once

#include <libra/place/batches.hpp>
#include <libra/place/concept.hpp>
#include <libra/place/fill.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace libra {

/// Deals the sequences of a global batch by falling work: the heaviest fill the first micro-step and so on, and inside
/// a step they go to the pools forth and back, skipping full ones.
///
/// The simple rule of many trainers, for comparison. Complexity: O(n log n) in the sequences.
/// Determinism: equal sequences by number.
struct snake {
  static constexpr std::string_view name = "snake";

  [[nodiscard]] placement operator()(std::span<int128 const> work, layout const& l, pool_partition const& pools) const {
    placement placed = packed_order(work.size(), l, pools);
    auto const per_batch = static_cast<std::size_t>(l.sequences_per_batch());
    auto const dp = static_cast<std::size_t>(l.dp);
    std::vector<sequence_id> order;
    for (std::size_t first = 0; first < placed.at.size(); first += per_batch) {
      std::span<sequence_id> const batch = std::span(placed.at).subspan(first, per_batch);
      order.assign(batch.begin(), batch.end());
      sort_heaviest_first(order, work);
      for (std::size_t m = 0; m < per_batch; m += dp) {
        deal(std::span(order).subspan(m, dp), pools, batch.subspan(m, dp));
      }
    }
    return placed;
  }

 private:
  static void deal(std::span<sequence_id const> order, pool_partition const& pools, std::span<sequence_id> step) {
    std::int32_t const count = pools.size();
    std::size_t next = 0;
    for (std::int32_t round = 0; next < order.size(); ++round) {
      for (std::int32_t i = 0; i < count; ++i) {
        pool_id const g(round % 2 == 0 ? i : count - 1 - i);
        if (round < pools.slots(g)) {
          step[static_cast<std::size_t>(pools.first_slot(g)) + static_cast<std::size_t>(round)] = order[next++];
        }
      }
    }
  }
};
static_assert(placer<snake>);

}  // namespace libra
