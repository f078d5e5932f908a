#pragma once

#include "device.hpp"
#include "parameters.hpp"

#include <libra/model/mask.hpp>
#include <libra/program/ops.hpp>

#include <cstdint>

namespace libra::cuda::device {

/// Rows of one tensor on the device, as a location names them.
struct operand {
  std::byte* first{};
  std::int64_t row_bytes{};   ///< from row to row
  std::int64_t head_bytes{};  ///< from head to head

  [[nodiscard]] LIBRA_DEVICE std::byte* at(std::int64_t row, std::int64_t head) const {
    return first + row * row_bytes + head * head_bytes;
  }
  template <class T>
  [[nodiscard]] LIBRA_DEVICE T* at(std::int64_t row, std::int64_t head) const {
    return reinterpret_cast<T*>(at(row, head));
  }
};

/// The rows of `heads` heads of tensor `t`, from `head_begin` on, that lie at `where`.
LIBRA_DEVICE operand operand_at(call_parameters const& call, geometry const& g, tensor t, location where,
                                std::int32_t head_begin, std::int32_t heads) {
  std::int64_t const head_bytes = head_row_bytes(t, g.shape, g.width());
  if (where.at_home()) {
    std::int64_t const row_bytes = head_bytes * heads_of(t, g.shape);
    return {call.home[static_cast<int>(t)] + where.local_token() * row_bytes + head_begin * head_bytes, row_bytes,
            head_bytes};
  }
  return {call.workspace + where.byte(), head_bytes * heads, head_bytes};
}

LIBRA_DEVICE operand operand_of(call_parameters const& call, geometry const& g, tile_task const& task, tensor t) {
  location const where = task.at[static_cast<std::size_t>(t)];
  if (has_kv_heads(t)) {
    return operand_at(call, g, t, where, task.head_begin / g.shape.group(), 1);
  }
  return operand_at(call, g, t, where, task.head_begin, task.head_end - task.head_begin);
}

LIBRA_DEVICE operand operand_of(call_parameters const& call, geometry const& g, region const& what, location where) {
  return operand_at(call, g, what.what, where, what.head_begin, what.head_end - what.head_begin);
}

/// The keys that a row of a tile sees and the tile works on; empty when there are none.
LIBRA_DEVICE row_range visible_keys(attention_mask const& mask, tile_task const& task, std::int64_t row) {
  // The mask never asks for keys beyond the panel, so the panel's end may stand for the segment's.
  std::int64_t const length = task.rows.end > task.keys.end ? task.rows.end : task.keys.end;
  row_range seen = mask.visible(row, length);
  seen.begin = seen.begin > task.keys.begin ? seen.begin : task.keys.begin;
  seen.end = seen.end < task.keys.end ? seen.end : task.keys.end;
  return seen;
}

/// The keys that any of a tile's rows `[begin, end)` sees and the tile works on. Pre: the rows are not empty.
LIBRA_DEVICE row_range visible_keys(attention_mask const& mask, tile_task const& task, std::int64_t begin,
                                    std::int64_t end) {
  std::int64_t const length = task.rows.end > task.keys.end ? task.rows.end : task.keys.end;
  row_range seen = mask.span(begin, end, length);
  seen.begin = seen.begin > task.keys.begin ? seen.begin : task.keys.begin;
  seen.end = seen.end < task.keys.end ? seen.end : task.keys.end;
  return seen;
}

/// The first item whose running count of units exceeds `unit`. Pre: the last one's does.
LIBRA_DEVICE std::int64_t item_of(std::int64_t const* ends, std::int64_t items, std::int64_t unit) {
  std::int64_t low = 0;
  std::int64_t high = items - 1;
  while (low < high) {
    std::int64_t const middle = (low + high) / 2;
    if (ends[middle] > unit) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace libra::cuda::device
