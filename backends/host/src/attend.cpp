#include "targets.hpp"
#include "tile_buffers.hpp"
#include "validate.hpp"

#include <libra/host/tile_kernel.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attend.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "exp2-inl.hpp"
#include "load-inl.hpp"
#include "multiply-inl.hpp"
#include "scores-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace libra::host::HWY_NAMESPACE {

using detail::attend_buffers;
using detail::column_range;

/// Makes `larger` the base of what was summed so far. Returns the factor that `total` is still to be multiplied by.
HWY_INLINE float rebase_row(float larger, std::size_t dim, float* sums, float& largest) {
  lanes const d;
  auto const shrink = exp2(d, hn::Sub(hn::Set(d, largest), hn::Set(d, larger)));
  for (std::size_t c = 0; c < dim; c += lane_count) {
    hn::Store(hn::Mul(hn::Load(d, sums + c), shrink), d, sums + c);
  }
  largest = larger;
  return hn::GetLane(shrink);
}

/// Turns a row of scores into probabilities relative to the largest score so far.
HWY_INLINE void softmax_row(column_range computed, std::size_t dim, float* scores, float* sums, float& largest,
                            float& total) {
  lanes const d;
  auto best = hn::Set(d, largest);
  for (std::size_t j = computed.begin; j < computed.end; j += lane_count) {
    best = hn::Max(best, hn::Load(d, scores + j));
  }
  best = hn::MaxOfLanes(d, best);
  float const larger = hn::GetLane(best);
  float const shrink = larger == largest ? 1.0F : rebase_row(larger, dim, sums, largest);
  auto sum = hn::Zero(d);
  for (std::size_t j = computed.begin; j < computed.end; j += lane_count) {
    auto const p = exp2(d, hn::Sub(hn::Load(d, scores + j), best));
    sum = hn::Add(sum, p);
    hn::Store(p, d, scores + j);
  }
  // One explicit multiply-add: of two operations a compiler might fuse some copies and not others.
  total = hn::GetLane(hn::MulAdd(hn::Set(d, total), hn::Set(d, shrink), hn::SumOfLanes(d, sum)));
}

/// Adds one key block to the pairs `[at, at + count)` of the chunk that begins at pair `chunk`.
HWY_INLINE void attend_block(attend_tile const& tile, std::int64_t chunk, std::size_t at, std::size_t count,
                             std::int64_t block_begin, attend_buffers& b) {
  std::int64_t const first = chunk + static_cast<std::int64_t>(at);
  column_range const seen =
      detail::visible_columns(tile.extent, first, first + static_cast<std::int64_t>(count), block_begin);
  if (seen.empty()) {
    return;
  }
  column_range const computed = whole_steps(seen);
  masked_scores(tile.extent, first, count, block_begin, computed, b.queries + at, b.keys, b.scores);
  std::size_t const dim = padded_dim(tile.extent);
  for (std::size_t i = 0; i < count; ++i) {
    softmax_row(computed, dim, b.scores[i], b.sums[at + i], b.largest[at + i], b.total[at + i]);
  }
  multiply<over_keys_layout, true>(b.scores[0] + seen.begin, b.values[seen.begin], b.sums[at], count, dim,
                                   seen.end - seen.begin);
}

void attend_chunk(attend_tile const& tile, std::int64_t chunk, std::size_t count, attend_buffers& b,
                  progress_hook const& poll) {
  tile_extent const& extent = tile.extent;
  auto const head_dim = static_cast<std::size_t>(extent.head_dim);
  load_pairs(tile.q, extent, chunk, count, extent.scale * std::numbers::log2e_v<float>, b.queries);
  for (std::size_t i = 0; i < (count + row_step - 1) / row_step * row_step; ++i) {
    std::fill_n(b.sums[i], padded_dim(extent), 0.0F);
  }
  // Finite, so that the difference to a hidden score is not NaN.
  std::fill_n(b.largest, count, std::numeric_limits<float>::lowest());
  std::fill_n(b.total, count, 0.0F);

  row_range const seen = detail::visible_keys(extent, chunk, chunk + static_cast<std::int64_t>(count));
  for (std::int64_t block = detail::first_block(extent, seen); block < seen.end; block += key_block) {
    std::int64_t const begin = block - extent.keys.begin;
    std::int64_t const end = std::min(block + key_block, extent.keys.end) - extent.keys.begin;
    load_keys_transposed(tile.k, begin, end, head_dim, b.keys);
    load_keys(tile.v, begin, end, head_dim, b.values);
    for (std::size_t at = 0; at < count; at += detail::batch_rows) {
      attend_block(tile, chunk, at, std::min(detail::batch_rows, count - at), block, b);
    }
    poll();
  }
  for (std::size_t i = 0; i < count; ++i) {
    b.inverse[i] = b.total[i] > 0.0F ? 1.0F / b.total[i] : 0.0F;  // 0: of some keys, a row may see none
  }
  store_pairs(b.sums, b.inverse, 1, extent, chunk, count, tile.o);
}

}  // namespace libra::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libra::host {

namespace {

HWY_EXPORT(attend_chunk);

// Not in the vector code: there a compiler could contract it differently from one copy to the next.
void store_lse(attend_tile const& tile, std::int64_t chunk, std::size_t count, detail::attend_buffers const& b) {
  for (std::size_t i = 0; i < count; ++i) {
    auto const at = detail::tile_row_of(tile.extent, chunk + static_cast<std::int64_t>(i));
    double const total = std::log(static_cast<double>(b.total[i]));
    double const lse = std::fma(static_cast<double>(b.largest[i]), std::numbers::ln2, total);
    *tile.lse.at(at.row, at.head) = static_cast<float>(lse);
  }
}

}  // namespace

void attend(attend_tile const& tile, scratch& memory, progress_hook poll) {
  detail::validate(tile.extent);
  auto& buffers = detail::buffers_in<detail::attend_buffers>(memory);
  std::int64_t const pairs = detail::pair_rows(tile.extent);
  constexpr auto step = static_cast<std::int64_t>(detail::chunk_rows);
  for (std::int64_t chunk = 0; chunk < pairs; chunk += step) {
    auto const count = static_cast<std::size_t>(std::min(step, pairs - chunk));
    HWY_DYNAMIC_DISPATCH(attend_chunk)(tile, chunk, count, buffers, poll);
    store_lse(tile, chunk, count, buffers);
  }
}

}  // namespace libra::host
#endif
