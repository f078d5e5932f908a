#pragma once

#include <libra/model/pool_batch.hpp>
#include <libra/model/tile.hpp>
#include <libra/model/work.hpp>
#include <libra/program/lowering.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace libra {

/// A way to lower a pass into less memory than usual.
struct memory_saving {
  std::int32_t alive_waves{};            ///< at most
  std::int32_t waves{1};                 ///< at least
  std::int32_t exported_permille{1000};  ///< of what a node would give away, at most

  friend constexpr bool operator==(memory_saving const&, memory_saving const&) = default;
};

/// What is tried, in this order: what loses least time first.
///
/// The blocks of rows of the waves that are alive shrink with their number, which costs next to nothing, and with the
/// size of a wave, each of which costs latency. Where less work is given away, a node computes longer than the others,
/// which costs most by far, and saves sums of gradients only. What is left are the keys, values and gradients that a
/// tile's rows see: a panel of a whole document, for a rank with its last rows. Neighbours that carry what a port has
/// too much of (`spread_bytes`) need next to no memory, so they stay.
inline constexpr std::array memory_savings{
    memory_saving{5, 1},        memory_saving{4, 1},        memory_saving{4, 16},       memory_saving{4, 32},
    memory_saving{4, 64},       memory_saving{4, 128},      memory_saving{4, 256},      memory_saving{4, 128, 500},
    memory_saving{4, 256, 500}, memory_saving{4, 128, 250}, memory_saving{4, 256, 250}, memory_saving{4, 128, 0},
    memory_saving{4, 256, 0},
};

/// Options with a saving applied.
[[nodiscard]] constexpr lowering_options with_saving(lowering_options options, memory_saving const& saving) noexcept {
  options.alive_waves = std::min(options.alive_waves, saving.alive_waves);
  options.waves = std::max(options.waves, saving.waves);
  return options;
}

/// The largest workspace of a rank. Units: bytes.
[[nodiscard]] inline std::int64_t workspace_of(pool_program const& programs) noexcept {
  std::int64_t most = 0;
  for (program const& rank : programs.ranks) {
    most = std::max(most, rank.workspace_bytes);
  }
  return most;
}

/// A pass that was lowered within a limit, or the least that any way of lowering it needs.
struct saved_pass {
  /// Only where the limit is kept.
  std::vector<tile> tiles;
  pool_program program;
  std::int64_t least_bytes{};
};

/// Lowers a pass by the first of `memory_savings` whose workspace is within `limit_bytes` on every rank.
///
/// `tiles_at(permille)` dispatches the pass so that nodes give away at most so many thousandths of what they would, or
/// is nothing where the dispatcher knows no such thing. Errors: those of `lower`. Complexity: of lowering, thirteen
/// times at most.
template <class TilesAt>
[[nodiscard]] saved_pass lower_within(std::int64_t limit_bytes, pool_batch const& batch, pass p,
                                      lowering_options const& usual, TilesAt tiles_at) {
  saved_pass result;
  std::optional<std::vector<tile>> tiles;
  std::int32_t exported = -1;
  std::vector<memory_saving> tried;
  for (memory_saving const& saving : memory_savings) {
    lowering_options const options = with_saving(usual, saving);
    memory_saving const effective{options.alive_waves, options.waves, saving.exported_permille};
    if (std::ranges::find(tried, effective) != tried.end()) {
      continue;
    }
    tried.push_back(effective);
    if (saving.exported_permille != exported) {
      exported = saving.exported_permille;
      tiles = tiles_at(exported);
    }
    if (!tiles) {
      continue;
    }
    pool_program program = lower(batch, *tiles, p, options);
    std::int64_t const bytes = workspace_of(program);
    result.least_bytes = tried.size() == 1 ? bytes : std::min(result.least_bytes, bytes);
    if (bytes <= limit_bytes) {
      result.tiles = std::move(*tiles);
      result.program = std::move(program);
      break;
    }
    if (usual.flow == key_flow::ring) {
      break;  // it has as many waves as ranks
    }
  }
  return result;
}

}  // namespace libra
