#pragma once

#include <libra/program/gradient_routes.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/kept_inputs.hpp>
#include <libra/program/key_moves.hpp>
#include <libra/program/memory_plan.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/panels.hpp>
#include <libra/program/row_routes.hpp>
#include <libra/program/skeleton.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace libra::detail {

/// The blocks of a tile's own rows: those of `row_inputs`, and those of `row_outputs`, follow one another; none for
/// rows that are used at home.
struct row_blocks {
  std::size_t inputs{none};
  std::size_t outputs{none};
};

/// One rank's program while it is built.
struct rank_build {
  rank_build(rank_tiles&& tiles, skeleton::needs const& needs, op_kind attend_kind)
      : work(std::move(tiles)),
        steps(needs, attend_kind),
        blocks(work.tiles.size()) {}

  rank_tiles work;
  skeleton steps;
  memory_plan memory;
  program out;
  std::vector<row_blocks> blocks;  ///< shape: `[tiles]`
};

/// One pass of a pool while it is lowered.
struct pool_build {
  pool_batch const& batch;
  node_map nodes;
  pass direction{};
  element_bytes width;
  std::int32_t waves{};  ///< that need something; 0 when no rank needs anything
  std::vector<rank_build> ranks{};
  /// Shape: `[ranks]`; empty where nothing is kept.
  std::vector<kept_inputs> kept{};
  key_routes keys{};
  gradient_routes gradients{};
  /// Shape: `[waves + 4]`, by the wave of the tile.
  std::vector<std::vector<row_move>> row_moves{};

  [[nodiscard]] bool backward() const noexcept { return direction == pass::backward; }
  [[nodiscard]] bool keeps() const noexcept { return !kept.empty(); }
  /// The tensors whose rows the pass brings to tiles.
  [[nodiscard]] std::span<tensor const> fetched() const noexcept { return fetched_rows(direction, keeps()); }
  /// The number of a tile's block of the i-th of them.
  [[nodiscard]] std::size_t fetched_block(row_blocks const& b, std::size_t i) const noexcept {
    return b.inputs + row_inputs(direction).size() - fetched().size() + i;
  }
  [[nodiscard]] std::int64_t row_bytes(tensor t) const noexcept { return head_row_bytes(t, batch.shape, width); }

  /// Where row `rows` of a block of tensor `t` begins.
  [[nodiscard]] location in_block(rank_build const& rank, tensor t, std::size_t block, std::int64_t rows,
                                  std::int32_t heads = 1) const {
    return location::workspace(rank.memory.offset(block) + rows * heads * row_bytes(t));
  }
};

}  // namespace libra::detail
