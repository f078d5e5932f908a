// Copies between the caller's strided views and the buffers. Included once per instruction set.

#if defined(LIBRA_HOST_LOAD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef LIBRA_HOST_LOAD_INL
#undef LIBRA_HOST_LOAD_INL
#else
#define LIBRA_HOST_LOAD_INL
#endif

#include "multiply-inl.hpp"
#include "tile_buffers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace libra::host::HWY_NAMESPACE {

/// Channels of a buffer row that are computed on: `head_dim` rounded up to whole vectors.
HWY_INLINE std::size_t padded_dim(tile_extent const& extent) {
  return (static_cast<std::size_t>(extent.head_dim) + lane_count - 1) / lane_count * lane_count;
}

/// Copies one row times `factor` and clears the padding behind it.
HWY_INLINE void load_row(float const* source, std::size_t head_dim, float factor, float* row) {
  hn::CappedTag<float, 8> const d;
  auto const scale = hn::Set(d, factor);
  std::size_t c = 0;
  for (; c < head_dim; c += hn::Lanes(d)) {
    hn::Store(hn::Mul(hn::LoadU(d, source + c), scale), d, row + c);
  }
  std::fill(row + c, row + (head_dim + lane_count - 1) / lane_count * lane_count, 0.0F);
}

/// Rows of the (row, head) pairs `[first, first + count)`, then zero rows up to a multiple of `row_step`.
HWY_INLINE void load_pairs(head_rows<float const> const& source, tile_extent const& extent, std::int64_t first,
                           std::size_t count, float factor, float (*rows)[detail::dim_stride]) {
  auto const head_dim = static_cast<std::size_t>(extent.head_dim);
  for (std::size_t i = 0; i < count; ++i) {
    auto const at = detail::tile_row_of(extent, first + static_cast<std::int64_t>(i));
    load_row(source.at(at.row, at.head), head_dim, factor, rows[i]);
  }
  for (std::size_t i = count; i % row_step != 0; ++i) {
    std::fill_n(rows[i], padded_dim(extent), 0.0F);
  }
}

/// Writes the (row, head) pairs `[first, first + count)`, row i times `factor[i * factor_step]`.
///
/// A zero comes out positive: whether a sum of zero terms was ever negative depends on how rows were grouped.
HWY_INLINE void store_pairs(float const (*rows)[detail::dim_stride], float const* factor, std::size_t factor_step,
                            tile_extent const& extent, std::int64_t first, std::size_t count,
                            head_rows<float> const& into) {
  hn::CappedTag<float, 8> const d;
  for (std::size_t i = 0; i < count; ++i) {
    auto const at = detail::tile_row_of(extent, first + static_cast<std::int64_t>(i));
    float* const target = into.at(at.row, at.head);
    auto const scale = hn::Set(d, factor[i * factor_step]);
    for (std::size_t c = 0; c < static_cast<std::size_t>(extent.head_dim); c += hn::Lanes(d)) {
      hn::StoreU(hn::MulAdd(hn::Load(d, rows[i] + c), scale, hn::Zero(d)), d, target + c);
    }
  }
}

/// Rows `[begin, end)` of `source` as they are.
HWY_INLINE void load_keys(head_rows<float const> const& source, std::int64_t begin, std::int64_t end,
                          std::size_t head_dim, float (*rows)[detail::dim_stride]) {
  for (std::int64_t i = begin; i < end; ++i) {
    load_row(source.at(i), head_dim, 1.0F, rows[i - begin]);
  }
}

#if HWY_TARGET != HWY_SCALAR
/// Channels `[begin, end)` of four rows from `row` on as columns from `column` on.
HWY_INLINE void transpose_four(head_rows<float const> const& source, std::int64_t row, std::size_t begin,
                               std::size_t end, float (*columns)[detail::key_stride], std::size_t column) {
  hn::CappedTag<float, 4> const d;
  for (std::size_t c = begin; c < end; c += 4) {
    auto const r0 = hn::LoadU(d, source.at(row) + c);
    auto const r1 = hn::LoadU(d, source.at(row + 1) + c);
    auto const r2 = hn::LoadU(d, source.at(row + 2) + c);
    auto const r3 = hn::LoadU(d, source.at(row + 3) + c);
    auto const low01 = hn::InterleaveLower(d, r0, r1);
    auto const low23 = hn::InterleaveLower(d, r2, r3);
    auto const high01 = hn::InterleaveUpper(d, r0, r1);
    auto const high23 = hn::InterleaveUpper(d, r2, r3);
    hn::Store(hn::ConcatLowerLower(d, low23, low01), d, columns[c] + column);
    hn::Store(hn::ConcatUpperUpper(d, low23, low01), d, columns[c + 1] + column);
    hn::Store(hn::ConcatLowerLower(d, high23, high01), d, columns[c + 2] + column);
    hn::Store(hn::ConcatUpperUpper(d, high23, high01), d, columns[c + 3] + column);
  }
}
#endif

/// Rows `[begin, end)` of `source` as columns.
HWY_INLINE void load_keys_transposed(head_rows<float const> const& source, std::int64_t begin, std::int64_t end,
                                     std::size_t head_dim, float (*columns)[detail::key_stride]) {
  std::int64_t i = begin;
#if HWY_TARGET != HWY_SCALAR
  std::int64_t const fours = begin + (end - begin) / 4 * 4;
  // A few channels of all rows at a time: their columns stay in the first-level cache until they are complete.
  constexpr std::size_t channels = 16;
  for (std::size_t c = 0; c < head_dim; c += channels) {
    for (i = begin; i < fours; i += 4) {
      transpose_four(source, i, c, std::min(c + channels, head_dim), columns, static_cast<std::size_t>(i - begin));
    }
  }
#endif
  for (; i < end; ++i) {
    float const* const row = source.at(i);
    for (std::size_t c = 0; c < head_dim; ++c) {
      columns[c][i - begin] = row[c];
    }
  }
}

}  // namespace libra::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
