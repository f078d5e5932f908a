#pragma once

#include <libra/core/isqrt.hpp>
#include <libra/core/wide.hpp>
#include <libra/cost/concept.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/model/topology.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace libra {

/// How many waves a pool's remote tiles are best cut into, for one pass.
///
/// The first wave's inputs and the last one's results travel while little is computed, so more waves expose less of the
/// exchange; each costs the latency of its rounds. The sum is least where the number is the root of the pool's time
/// over that latency. Without a cost model that counts time, four.
///
/// Complexity: linear in the segments. Errors: `range_error` from the cost model.
template <cost_model Cost>
[[nodiscard]] std::int32_t wave_count(pool_batch const& batch, Cost const& cost, topology const& links, pass p) {
  constexpr std::int32_t usual = 4;
  constexpr std::int64_t most = 32;
  if constexpr (timing_cost_model<Cost>) {
    if (cost.counts_picoseconds()) {
      int128 total = 0;
      for (std::size_t s = 0; s < batch.segments.size(); ++s) {
        std::int64_t const n = batch.segments[s].what.length;
        work const head = cost(tile_shape{0, n, n, batch.shape.group(), batch.shape.head_dim, batch.shape.mask});
        total += int128{head.of(p)} * batch.shape.kv_heads;
      }
      std::int64_t const rounds_ps = std::max<std::int64_t>(1, links.network_latency_ps + 2 * links.node_latency_ps);
      return static_cast<std::int32_t>(
          std::clamp<std::int64_t>(isqrt(total / std::max(1, batch.ranks()) / rounds_ps), 1, most));
    }
  }
  return usual;
}

}  // namespace libra
