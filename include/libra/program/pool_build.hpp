#pragma once

#include <libra/program/gradients.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/memory_plan.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/panels.hpp>
#include <libra/program/skeleton.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace libra::detail {

/// One rank's program while it is built.
struct rank_build {
  rank_build(rank_tiles&& tiles, skeleton::needs const& needs, op_kind attend_kind)
      : work(std::move(tiles)),
        steps(needs, attend_kind),
        blocks(work.tiles.size()) {
    for (auto& b : blocks) {
      b.fill(none);
    }
  }

  rank_tiles work;
  skeleton steps;
  memory_plan memory;
  program out;
  /// Shape: `[tiles]`. The workspace blocks of a tile's own rows; none for rows that are used at home.
  std::vector<std::array<std::size_t, tensor_count>> blocks;
};

/// One pass of a pool while it is lowered.
struct pool_build {
  pool_batch const& batch;
  pass direction{};
  element_bytes width;
  std::int32_t waves{};  ///< rounds in each direction; 0 when no rank needs anything
  std::vector<rank_build> ranks;
  /// Shape: `[ranks]`, by home rank; empty in the forward pass.
  std::vector<std::vector<gradient_piece>> gradients;

  [[nodiscard]] bool backward() const noexcept { return direction == pass::backward; }
  [[nodiscard]] std::int64_t row_bytes(tensor t) const noexcept { return wire_row_bytes(t, batch.shape, width); }

  /// A tile's row block in its rank's workspace, as a byte offset. Pre: the rows are not used at home.
  [[nodiscard]] static std::int64_t block_of(rank_build const& rank, std::size_t tile, tensor t) {
    return rank.memory.offset(rank.blocks[tile][static_cast<std::size_t>(t)]);
  }
};

}  // namespace libra::detail
