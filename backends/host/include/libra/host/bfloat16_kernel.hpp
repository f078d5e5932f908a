#pragma once

#include <libra/host/bfloat16.hpp>
#include <libra/host/kernel.hpp>
#include <libra/host/scratch.hpp>
#include <libra/host/tile_kernel.hpp>
#include <libra/program/ops.hpp>
#include <libra/run/bindings.hpp>
#include <libra/run/concept.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace libra::host {

/// Computes a rank's ops on bf16 tensors with the fp32 tile kernel. One per thread.
///
/// A tile's operands are widened, which is exact, and its results rounded once; statistics and partial results are
/// fp32. Plans let only a tile that is alone on its keys add to their gradients at home, so these are rounded once too.
/// The memory for it grows to the largest tile's operands and is kept.
class bfloat16_kernel {
 public:
  using element = bfloat16;
  using memory = host::memory;
  static constexpr element_bytes width{2, 4, 4};

  [[nodiscard]] memory allocate(std::int64_t bytes) { return memory(bytes); }
  void attend(std::span<tile_task const> tiles, bindings const& at, progress_hook poll = {});
  void attend_backward(std::span<tile_task const> tiles, bindings const& at, progress_hook poll = {});
  void row_dot(std::span<dot_task const> dots, bindings const& at);
  void clear(std::span<region_task const> regions, bindings const& at);
  void reduce(std::span<reduce_task const> sums, std::span<location const> partials, bindings const& at);

 private:
  scratch scratch_;
  std::vector<float> q_, k_, v_, d_o_, rows_, part_rows_, part_lse_, dk_, dv_;
};
static_assert(polling_kernel<bfloat16_kernel>);

}  // namespace libra::host
