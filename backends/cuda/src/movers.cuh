#pragma once

#include "regions.cuh"
#include "tasks.hpp"

namespace libra::cuda::device {

enum class direction : std::uint8_t { gather, scatter };

template <class Vector>
LIBRA_DEVICE void copy_row(std::byte* to, std::byte const* from, std::int64_t bytes) {
  auto* const target = reinterpret_cast<Vector*>(to);
  auto const* const source = reinterpret_cast<Vector const*>(from);
  for (std::int64_t i = lane(); i < bytes / static_cast<std::int64_t>(sizeof(Vector)); i += warp_threads) {
    target[i] = source[i];
  }
}

/// Moves the rows of one round between where they belong and a wire buffer: 16 bytes at once wherever they are aligned.
template <direction Direction>
LIBRA_KERNEL(region_threads)
move_rows(call_parameters const* call, row_move const* moves, std::int64_t const* ends, std::int64_t items,
          std::byte* wire) {
  for_each_row(ends, items, [&](std::int64_t n, std::int64_t row) {
    row_move const move = moves[n];
    std::byte* base = nullptr;
    if (move.base < workspace_base) {
      base = call->home[move.base];
    } else if (move.base == workspace_base) {
      base = call->workspace;
    }
    std::uintptr_t const first = reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(move.offset);
    auto* const here = reinterpret_cast<std::byte*>(first) + row * move.stride_bytes;
    std::byte* const there = wire + move.wire_offset + row * move.row_bytes;
    std::byte* const to = Direction == direction::gather ? there : here;
    std::byte const* const from = Direction == direction::gather ? here : there;
    bool const wide = (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from) |
                       static_cast<std::uintptr_t>(move.row_bytes)) %
                          sizeof(vector16) ==
                      0;
    if (wide) {
      copy_row<vector16>(to, from, move.row_bytes);
    } else {
      copy_row<std::uint32_t>(to, from, move.row_bytes);
    }
  });
}

}  // namespace libra::cuda::device
