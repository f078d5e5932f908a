#pragma once

#include <libra/model/mask.hpp>
#include <libra/program/ops.hpp>

#include <cstdint>

namespace libra::cuda {

/// The tiles of a batch that add to the same rows of dk and dv, `[first, last)` of a list sorted by such groups, and
/// the keys that any of them holds.
struct key_group {
  std::int64_t first{};
  std::int64_t last{};
  row_range keys;
};

/// Rows on their way between where they belong and a wire buffer.
struct row_move {
  /// The home tensor, `workspace_base` or `absolute_base`.
  std::int32_t base{};
  /// Bytes of a row, of all its heads.
  std::int32_t row_bytes{};
  /// From the base to the first row; an address when the base is absolute.
  std::int64_t offset{};
  std::int64_t rows{};
  std::int64_t stride_bytes{};
  std::int64_t wire_offset{};
};
inline constexpr std::int32_t workspace_base = tensor_count;
inline constexpr std::int32_t absolute_base = workspace_base + 1;

}  // namespace libra::cuda
