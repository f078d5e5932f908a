// Scores of one key block: what the forward and the backward kernel share. Included once per instruction set.

#if defined(LIBRA_HOST_SCORES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef LIBRA_HOST_SCORES_INL
#undef LIBRA_HOST_SCORES_INL
#else
#define LIBRA_HOST_SCORES_INL
#endif

#include "load-inl.hpp"
#include "multiply-inl.hpp"
#include "tile_buffers.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace libra::host::HWY_NAMESPACE {

/// Queries or gradients, row-major, times a transposed key block.
using score_layout = product_layout<detail::dim_stride, 1, detail::key_stride, detail::key_stride>;
/// Probabilities, one row per (row, head) pair, times a key block: sums over keys.
using over_keys_layout = product_layout<detail::key_stride, 1, detail::dim_stride, detail::dim_stride>;
/// The same probabilities, transposed, times queries or gradients: sums over pairs.
using over_pairs_layout = product_layout<1, detail::key_stride, detail::dim_stride, detail::dim_stride>;

/// `columns` widened to what is computed together.
HWY_INLINE detail::column_range whole_steps(detail::column_range columns) {
  return {columns.begin / column_step * column_step, (columns.end + column_step - 1) / column_step * column_step};
}

/// Overwrites what a row does not see among the computed columns with minus infinity.
HWY_INLINE void mask_scores(detail::column_range visible, detail::column_range computed, float* scores) {
  float const hidden = -std::numeric_limits<float>::infinity();
  std::size_t const begin = std::clamp(visible.begin, computed.begin, computed.end);
  std::size_t const end = std::clamp(visible.end, begin, computed.end);
  std::fill(scores + computed.begin, scores + begin, hidden);
  std::fill(scores + end, scores + computed.end, hidden);
}

/// `scores = rows * keys^T` for the computed columns; what each of the `count` pairs from `first` on does not see is
/// minus infinity.
HWY_INLINE void masked_scores(tile_extent const& extent, std::int64_t first, std::size_t count,
                              std::int64_t block_begin, detail::column_range computed,
                              float const (*queries)[detail::dim_stride], float const (*keys)[detail::key_stride],
                              float (*scores)[detail::key_stride]) {
  multiply<score_layout, false>(queries[0], keys[0] + computed.begin, scores[0] + computed.begin, count,
                                computed.end - computed.begin, static_cast<std::size_t>(extent.head_dim));
  // Both ends of what a row sees ascend with the row, so the outer pairs speak for those between them.
  std::int64_t const last = first + static_cast<std::int64_t>(count) - 1;
  if (detail::visible_columns(extent, first, first + 1, block_begin).covers(computed) &&
      detail::visible_columns(extent, last, last + 1, block_begin).covers(computed)) {
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t const pair = first + static_cast<std::int64_t>(i);
    mask_scores(detail::visible_columns(extent, pair, pair + 1, block_begin), computed, scores[i]);
  }
}

}  // namespace libra::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
