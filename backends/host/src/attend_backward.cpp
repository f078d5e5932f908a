#include "targets.hpp"
#include "tile_buffers.hpp"
#include "validate.hpp"

#include <libra/host/tile_kernel.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attend_backward.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "exp2-inl.hpp"
#include "load-inl.hpp"
#include "multiply-inl.hpp"
#include "scores-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace libra::host::HWY_NAMESPACE {

using detail::backward_buffers;
using detail::column_range;

/// Turns a row of scores into probabilities, and a row of their gradients into gradients of the scores.
HWY_INLINE void softmax_backward_row(column_range computed, float lse, float delta, float* scores, float* gradients) {
  lanes const d;
  auto const log_sum = hn::Set(d, lse);
  auto const mean = hn::Set(d, delta);
  for (std::size_t j = computed.begin; j < computed.end; j += lane_count) {
    // A probability is at most 1, whatever the rounding of large scores says.
    auto const p = exp2(d, hn::Min(hn::Sub(hn::Load(d, scores + j), log_sum), hn::Zero(d)));
    hn::Store(p, d, scores + j);
    hn::Store(hn::Mul(p, hn::Sub(hn::Load(d, gradients + j), mean)), d, gradients + j);
  }
}

/// Adds what the pairs `[at, at + count)` of the chunk and one key block give to each other.
HWY_INLINE void backward_block(attend_backward_tile const& tile, std::int64_t chunk, std::size_t at, std::size_t count,
                               std::int64_t block_begin, backward_buffers& b) {
  std::int64_t const first = chunk + static_cast<std::int64_t>(at);
  column_range const seen =
      detail::visible_columns(tile.extent, first, first + static_cast<std::int64_t>(count), block_begin);
  if (seen.empty()) {
    return;
  }
  column_range const computed = whole_steps(seen);
  std::size_t const columns = computed.end - computed.begin;
  std::size_t const dim = padded_dim(tile.extent);
  masked_scores(tile.extent, first, count, block_begin, computed, b.queries + at, b.keys_transposed, b.p);
  multiply<score_layout, false>(b.d_o[at], b.values_transposed[0] + computed.begin, b.ds[0] + computed.begin, count,
                                columns, static_cast<std::size_t>(tile.extent.head_dim));
  for (std::size_t i = 0; i < count; ++i) {
    softmax_backward_row(computed, b.lse[at + i], b.delta[at + i], b.p[i], b.ds[i]);
  }
  multiply<over_keys_layout, true>(b.ds[0] + seen.begin, b.keys[seen.begin], b.dq[at], count, dim,
                                   seen.end - seen.begin);
  multiply<over_pairs_layout, true>(b.p[0] + computed.begin, b.d_o[at], b.dv[computed.begin], columns, dim, count);
  multiply<over_pairs_layout, true>(b.ds[0] + computed.begin, b.queries[at], b.dk[computed.begin], columns, dim, count);
}

void load_chunk(attend_backward_tile const& tile, std::int64_t chunk, std::size_t count, backward_buffers& b) {
  tile_extent const& extent = tile.extent;
  load_pairs(tile.q, extent, chunk, count, extent.scale * std::numbers::log2e_v<float>, b.queries);
  load_pairs(tile.d_o, extent, chunk, count, 1.0F, b.d_o);
  for (std::size_t i = 0; i < count; ++i) {
    auto const at = detail::tile_row_of(extent, chunk + static_cast<std::int64_t>(i));
    b.lse[i] = *tile.lse.at(at.row, at.head) * std::numbers::log2e_v<float>;
    b.delta[i] = *tile.delta.at(at.row, at.head);
  }
  for (std::size_t i = 0; i < (count + row_step - 1) / row_step * row_step; ++i) {
    std::fill_n(b.dq[i], padded_dim(extent), 0.0F);
  }
}

/// `into[i] += factor * rows[i]` for the keys `[begin, end)`.
HWY_INLINE void add_keys(float const (*rows)[detail::dim_stride], float factor, std::int64_t begin, std::int64_t end,
                         std::size_t head_dim, head_rows<float> const& into) {
  hn::CappedTag<float, 8> const d;
  auto const scale = hn::Set(d, factor);
  for (std::int64_t i = begin; i < end; ++i) {
    float* const target = into.at(i);
    for (std::size_t c = 0; c < head_dim; c += hn::Lanes(d)) {
      hn::StoreU(hn::MulAdd(hn::Load(d, rows[i - begin] + c), scale, hn::LoadU(d, target + c)), d, target + c);
    }
  }
}

void attend_backward_chunk(attend_backward_tile const& tile, std::int64_t chunk, std::size_t count, backward_buffers& b,
                           progress_hook const& poll) {
  tile_extent const& extent = tile.extent;
  auto const head_dim = static_cast<std::size_t>(extent.head_dim);
  load_chunk(tile, chunk, count, b);
  row_range const seen = detail::visible_keys(extent, chunk, chunk + static_cast<std::int64_t>(count));
  for (std::int64_t block = detail::first_block(extent, seen); block < seen.end; block += key_block) {
    std::int64_t const begin = block - extent.keys.begin;
    std::int64_t const end = std::min(block + key_block, extent.keys.end) - extent.keys.begin;
    load_keys(tile.k, begin, end, head_dim, b.keys);
    load_keys_transposed(tile.k, begin, end, head_dim, b.keys_transposed);
    load_keys_transposed(tile.v, begin, end, head_dim, b.values_transposed);
    for (std::size_t i = 0; i < detail::block_keys; ++i) {
      std::fill_n(b.dk[i], padded_dim(extent), 0.0F);
      std::fill_n(b.dv[i], padded_dim(extent), 0.0F);
    }
    for (std::size_t at = 0; at < count; at += detail::batch_rows) {
      backward_block(tile, chunk, at, std::min(detail::batch_rows, count - at), block, b);
    }
    // The queries carry scale * log2(e), which leaves ln(2) for dk.
    add_keys(b.dk, std::numbers::ln2_v<float>, begin, end, head_dim, tile.dk);
    add_keys(b.dv, 1.0F, begin, end, head_dim, tile.dv);
    poll();
  }
  store_pairs(b.dq, &extent.scale, 0, extent, chunk, count, tile.dq);
}

}  // namespace libra::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libra::host {

namespace {

HWY_EXPORT(attend_backward_chunk);

}  // namespace

void attend_backward(attend_backward_tile const& tile, scratch& memory, progress_hook poll) {
  detail::validate(tile.extent);
  auto& buffers = detail::buffers_in<detail::backward_buffers>(memory);
  std::int64_t const pairs = detail::pair_rows(tile.extent);
  constexpr auto step = static_cast<std::int64_t>(detail::chunk_rows);
  for (std::int64_t chunk = 0; chunk < pairs; chunk += step) {
    auto const count = static_cast<std::size_t>(std::min(step, pairs - chunk));
    HWY_DYNAMIC_DISPATCH(attend_backward_chunk)(tile, chunk, count, buffers, poll);
  }
}

}  // namespace libra::host
#endif
