#pragma once

#include <libra/host/tile_kernel.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace libra::host::detail {

/// Keys of one block, and columns of a score matrix.
inline constexpr std::size_t block_keys = static_cast<std::size_t>(key_block);
/// Channels that a buffer row holds.
inline constexpr std::size_t max_head_dim = 256;
/// Pairs whose scores of one key block are held at a time. A multiple of every instruction set's row block.
inline constexpr std::size_t batch_rows = 48;
/// (row, head) pairs whose state stays in the buffers while all keys pass by: few enough for a second-level cache, and
/// enough for a tile of 128 rows and 8 heads.
inline constexpr std::size_t chunk_rows = 22 * batch_rows;

// One cache line beyond a power of two, so that the rows of a column spread over all sets of a cache.
inline constexpr std::size_t key_stride = block_keys + 16;
inline constexpr std::size_t dim_stride = max_head_dim + 16;

/// A matrix with channels as columns.
template <std::size_t Rows>
using dim_rows = float[Rows][dim_stride];
/// A matrix with the keys of one block as columns.
template <std::size_t Rows>
using key_rows = float[Rows][key_stride];

/// What the forward kernel keeps in its scratch memory. Scores are exponents of two: scale * log2(e) * q.k.
struct attend_buffers {
  alignas(128) dim_rows<chunk_rows> queries;  // times scale * log2(e)
  alignas(128) dim_rows<chunk_rows> sums;     // of 2^(score - largest) * value
  alignas(128) key_rows<max_head_dim> keys;   // of one block, transposed
  alignas(128) dim_rows<block_keys> values;
  alignas(128) key_rows<batch_rows> scores;
  float largest[chunk_rows];  // score so far
  float total[chunk_rows];    // of 2^(score - largest)
  float inverse[chunk_rows];  // of total
};

/// What the backward kernel keeps in its scratch memory.
struct backward_buffers {
  alignas(128) dim_rows<chunk_rows> queries;  // times scale * log2(e)
  alignas(128) dim_rows<chunk_rows> d_o;
  alignas(128) dim_rows<chunk_rows> dq;  // over scale
  alignas(128) dim_rows<block_keys> keys;
  alignas(128) key_rows<max_head_dim> keys_transposed;
  alignas(128) key_rows<max_head_dim> values_transposed;
  alignas(128) dim_rows<block_keys> dk;  // times log2(e)
  alignas(128) dim_rows<block_keys> dv;
  alignas(128) key_rows<batch_rows> p;
  alignas(128) key_rows<batch_rows> ds;  // over scale
  float lse[chunk_rows];                 // in powers of two
  float delta[chunk_rows];
};

/// The buffers in a scratch memory. They hold numbers from the start, though of no meaning.
template <class Buffers>
[[nodiscard]] Buffers& buffers_in(scratch& memory) {
  static_assert(std::is_trivially_copyable_v<Buffers> && alignof(Buffers) <= 128);
  return *std::launder(reinterpret_cast<Buffers*>(memory.reserve(sizeof(Buffers))));
}

/// Position of a (row, head) pair in its tile: heads vary fastest, so that neighbours see almost the same keys.
struct tile_row {
  std::int64_t row;
  std::int64_t head;
};

[[nodiscard]] constexpr tile_row tile_row_of(tile_extent const& extent, std::int64_t index) noexcept {
  return {index / extent.heads, index % extent.heads};
}

/// The keys of the tile that some of the pairs `[first, last)` see. Pre: `first < last`.
[[nodiscard]] constexpr row_range visible_keys(tile_extent const& extent, std::int64_t first,
                                               std::int64_t last) noexcept {
  row_range const seen = extent.mask.span(extent.rows.begin + first / extent.heads,
                                          extent.rows.begin + (last - 1) / extent.heads + 1, extent.length);
  std::int64_t const begin = std::max(seen.begin, extent.keys.begin);
  return {begin, std::max(begin, std::min(seen.end, extent.keys.end))};
}

/// The first block that holds a key of `seen`. Blocks begin with the tile's first key.
[[nodiscard]] constexpr std::int64_t first_block(tile_extent const& extent, row_range seen) noexcept {
  return seen.begin - (seen.begin - extent.keys.begin) % key_block;
}

/// Keys `[begin, end)` relative to the first key of a block.
struct column_range {
  std::size_t begin;
  std::size_t end;

  [[nodiscard]] constexpr bool empty() const noexcept { return begin >= end; }
  [[nodiscard]] constexpr bool covers(column_range other) const noexcept {
    return begin <= other.begin && end >= other.end;
  }
};

/// The keys of the block at `block_begin` that some of the pairs `[first, last)` see. Pre: `first < last`.
[[nodiscard]] constexpr column_range visible_columns(tile_extent const& extent, std::int64_t first, std::int64_t last,
                                                     std::int64_t block_begin) noexcept {
  row_range const seen = visible_keys(extent, first, last);
  auto const clip = [&](std::int64_t key) {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(key - block_begin, 0, key_block));
  };
  return {clip(seen.begin), clip(seen.end)};
}

/// Pairs of a tile.
[[nodiscard]] constexpr std::int64_t pair_rows(tile_extent const& extent) noexcept {
  return extent.rows.size() * extent.heads;
}

}  // namespace libra::host::detail
