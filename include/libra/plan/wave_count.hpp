#pragma once

#include <libra/core/isqrt.hpp>
#include <libra/core/wide.hpp>
#include <libra/model/topology.hpp>

#include <algorithm>
#include <cstdint>

namespace libra {

/// Waves of a pool whose work is not counted in time.
inline constexpr std::int32_t usual_waves = 4;

/// How many waves a pool's remote tiles are best cut into, for one pass that takes `ranks` ranks `total_ps` together.
///
/// The first wave's inputs and the last one's results travel while little is computed, so more waves expose less of the
/// exchange; each costs the latency of its rounds. The sum is least where the number is the root of the pool's time
/// over that latency. One at least, 32 at most. Units: picoseconds. Pre: `ranks` > 0. Complexity: constant.
[[nodiscard]] constexpr std::int32_t wave_count(int128 total_ps, std::int32_t ranks, topology const& links) {
  constexpr std::int64_t most = 32;
  std::int64_t const rounds_ps = std::max<std::int64_t>(1, links.network_latency_ps + 2 * links.node_latency_ps);
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(isqrt(total_ps / ranks / rounds_ps), 1, most));
}

}  // namespace libra
