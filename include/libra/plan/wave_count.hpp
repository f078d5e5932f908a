#pragma once

#include <libra/core/isqrt.hpp>
#include <libra/core/wide.hpp>
#include <libra/dispatch/concept.hpp>
#include <libra/model/crossing_bytes.hpp>
#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/model/topology.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

/// Waves of a pool whose work is not counted in time.
inline constexpr std::int32_t usual_waves = 4;

/// How many waves a pool's remote tiles are best cut into, for one pass that takes `ranks` ranks `total_ps` together.
///
/// `total_ps` is what they compute, or what they exchange if that takes longer (`crossing_ps`). The first wave's inputs
/// and the last one's results travel while little is computed, so more waves expose less of the exchange; each costs
/// the latency of its rounds. The sum is least where the number is the root of the pool's time over that latency. One
/// at least, 32 at most. Units: picoseconds. Pre: `ranks` > 0. Complexity: constant.
[[nodiscard]] constexpr std::int32_t wave_count(int128 total_ps, std::int32_t ranks, topology const& links) {
  constexpr std::int64_t most = 32;
  std::int64_t const rounds_ps = std::max<std::int64_t>(1, links.network_latency_ps + 2 * links.node_latency_ps);
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(isqrt(total_ps / ranks / rounds_ps), 1, most));
}

/// What all ranks together could compute while the network ports of the busiest node bring rows to other nodes, or
/// their results back, spread evenly over the node's ranks. Keys are not counted. Units: picoseconds.
/// Complexity: linear in the tiles' homes.
[[nodiscard]] inline int128 crossing_ps(pool_batch const& batch, std::span<tile const> tiles, pass p,
                                        topology const& links) {
  node_map const nodes(batch, links.ranks_per_node);
  detail::crossing_bytes const bytes = detail::bytes_of(p, batch.shape.head_dim);
  std::vector<std::int64_t> rows_of(static_cast<std::size_t>(nodes.nodes()));
  for (tile const& t : tiles) {
    batch.for_each_home(t.segment, {t.q_begin, t.q_end}, [&](rank_id home, row_range part, std::int64_t) {
      if (nodes.of(home) != nodes.of(t.rank)) {
        rows_of[static_cast<std::size_t>(nodes.of(home))] += part.size() * (t.head_end - t.head_begin);
      }
    });
  }
  int128 most = 0;
  for (std::int32_t n = 0; n < nodes.nodes(); ++n) {
    int128 const sent =
        int128{rows_of[static_cast<std::size_t>(n)]} * std::max(bytes.row_out, bytes.row_back) * 1'000'000'000'000;
    most = std::max(most, sent / links.network_bytes_per_second / std::max(1, nodes.first(n + 1) - nodes.first(n)));
  }
  return most * batch.ranks();
}

}  // namespace libra
