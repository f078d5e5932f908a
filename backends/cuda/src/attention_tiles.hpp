#pragma once

#include "device.hpp"
#include "operands.hpp"

#include <cstddef>
#include <cstdint>

namespace libra::cuda::device {

// A block owns `own_rows` rows of one head (queries, or keys in the backward pass of keys) and streams `other_rows`
// rows at a time of the other side past them. A warp works on one of its own rows at a time, a lane on one of the
// others.
inline constexpr unsigned attention_threads = 128;
inline constexpr int own_rows = 16;
inline constexpr int other_rows = 32;
inline constexpr int warps = attention_threads / warp_threads;
inline constexpr int rows_per_warp = own_rows / warps;
/// Channels of a row that a lane sums, at most: head_dim is at most 256.
inline constexpr int most_channels = 256 / warp_threads;

/// Floats from row to row in shared memory: odd, so that the lanes of a warp read from different banks.
LIBRA_DEVICE int shared_stride(int head_dim) { return head_dim + 1; }

/// Floats that a warp keeps for `rounds` lots of 32 weights, in two places in turn: what one row's round reads is not
/// written again before the barrier of the next row's round, so that one barrier each is enough.
[[nodiscard]] constexpr int weights_per_warp(int rounds) { return 2 * rounds * other_rows; }

inline constexpr float log2_e = 1.4426950408889634F;
inline constexpr float ln_2 = 0.6931471805599453F;

/// Loads rows of one head into shared memory as floats times `factor`; rows outside `[begin, end)` become zero.
///
/// Row 0 of `to` is row `first` of the tensor, which may be outside. Called by all threads of the block.
template <class Element>
LIBRA_DEVICE void load_rows(operand const& from, std::int64_t head, std::int64_t first, std::int64_t begin,
                            std::int64_t end, int count, int head_dim, float factor, float* to) {
  for (int i = static_cast<int>(thread()); i < count * head_dim; i += static_cast<int>(attention_threads)) {
    int const row = i / head_dim;
    int const channel = i % head_dim;
    std::int64_t const token = first + row;
    float x = 0.0F;
    if (token >= begin && token < end) {
      x = factor * to_float(from.at<Element>(token - begin, head)[channel]);
    }
    to[row * shared_stride(head_dim) + channel] = x;
  }
}

LIBRA_DEVICE float dot(float const* a, float const* b, int head_dim) {
  float sum = 0.0F;
#pragma unroll 8
  for (int c = 0; c < head_dim; ++c) {
    sum = multiply_add(a[c], b[c], sum);
  }
  return sum;
}

/// `sums[i] += sum over r of weights[r] * rows[r][lane + 32 i]`, in the order of r.
LIBRA_DEVICE void add_weighted(float const* weights, float const* rows, int head_dim, float (&sums)[most_channels]) {
  int const mine = static_cast<int>(lane());
  int const stride = shared_stride(head_dim);
#pragma unroll
  for (int i = 0; i < most_channels; ++i) {
    int const channel = mine + i * static_cast<int>(warp_threads);
    if (channel < head_dim) {
      float sum = sums[i];
#pragma unroll 8
      for (int r = 0; r < other_rows; ++r) {
        sum = multiply_add(weights[r], rows[r * stride + channel], sum);
      }
      sums[i] = sum;
    }
  }
}

/// Which tile, head of the tile and first row a block works on.
struct row_unit {
  std::int64_t tile{};
  std::int32_t head{};
  std::int64_t first_row{};  ///< of the segment
};

LIBRA_DEVICE row_unit row_unit_of(tile_task const* tiles, std::int64_t const* ends, std::int64_t items,
                                  std::int64_t unit) {
  std::int64_t const n = item_of(ends, items, unit);
  tile_task const& task = tiles[n];
  std::int64_t const before = n == 0 ? 0 : ends[n - 1];
  std::int64_t const chunks = (task.rows.end - task.rows.begin + own_rows - 1) / own_rows;
  std::int64_t const in_tile = unit - before;
  return {n, static_cast<std::int32_t>(in_tile / chunks), task.rows.begin + in_tile % chunks * own_rows};
}

}  // namespace libra::cuda::device
