#pragma once

#include <libra/core/error.hpp>
#include <libra/host/tile_kernel.hpp>

namespace libra::host::detail {

/// Errors: `input_error` naming the part of the extent that no kernel can compute.
inline void validate(tile_extent const& extent) {
  auto const& [rows, keys, length, heads, head_dim, mask, scale, all_keys] = extent;
  require(heads >= 1, "tile has ", heads, " heads, expected at least 1");
  require(head_dim >= 16 && head_dim <= 256 && head_dim % 8 == 0, "head_dim is ", head_dim,
          ", expected 16 to 256 in steps of 8");
  require(0 <= rows.begin && rows.begin <= rows.end && rows.end <= length, "tile has rows [", rows.begin, ", ",
          rows.end, "), expected a range inside its segment of ", length, " tokens");
  if (!all_keys) {
    require(0 <= keys.begin && keys.begin <= keys.end && keys.end <= length, "tile has keys [", keys.begin, ", ",
            keys.end, "), expected a range inside its segment of ", length, " tokens");
    return;
  }
  require(keys.begin % key_block == 0, "tile's keys begin at ", keys.begin, ", expected a multiple of ", key_block);
  if (rows.size() == 0) {
    return;
  }
  row_range const seen = mask.span(rows.begin, rows.end, length);
  require(0 <= keys.begin && keys.begin <= seen.begin && seen.end <= keys.end && keys.end <= length, "tile has keys [",
          keys.begin, ", ", keys.end, "), expected at least the visible [", seen.begin, ", ", seen.end,
          ") and none beyond the segment's ", length, " tokens");
}

inline void validate(head_extent const& extent) {
  require(extent.rows >= 0 && extent.heads >= 1, "rows are [", extent.rows, ", ", extent.heads,
          "], expected at least [0, 1]");
  require(extent.head_dim >= 8 && extent.head_dim % 8 == 0, "head_dim is ", extent.head_dim,
          ", expected a multiple of 8");
}

}  // namespace libra::host::detail
