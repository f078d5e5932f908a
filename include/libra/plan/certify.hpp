#pragma once

#include <libra/core/checked.hpp>
#include <libra/cost/concept.hpp>
#include <libra/model/layout.hpp>
#include <libra/model/placement.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/plan/certificate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace libra {

namespace detail {

/// The least that the steps of a global batch can add up to, times `scale`, because of its heaviest sequence.
///
/// That sequence's pool of s slots holds at least X, it and the s - 1 lightest, so its step takes X / s at least. The
/// step's other slots hold at most H, the dp - s heaviest sequences after it, so the other steps hold W - X - H of the
/// batch's work W at least, and a step takes no less than its mean. More in the outlier's pool costs more there than it
/// saves elsewhere. Reorders `work`. Pre: `slots` <= `dp` <= `work.size()`. Complexity: linear on average.
[[nodiscard]] inline int128 outlier_bound(std::span<int128> work, int128 total, std::int32_t slots, std::int32_t dp,
                                          int128 scale) {
  std::ranges::iter_swap(work.begin(), std::ranges::max_element(work));
  std::span<int128> const others = work.subspan(1);
  auto const sum_of_first = [&](std::int32_t count, auto const& before) {
    std::ranges::nth_element(others, others.begin() + count, before);
    return std::accumulate(others.begin(), others.begin() + count, int128{0}, checked_add);
  };
  int128 const pool = checked_add(work.front(), sum_of_first(slots - 1, std::ranges::less{}));
  int128 const beside = sum_of_first(dp - slots, std::ranges::greater{});
  return checked_add(checked_mul(pool, scale / slots),
                     checked_mul(std::max<int128>(0, total - pool - beside), scale / dp));
}

}  // namespace detail

/// Certifies a placement: what it achieves, what Ulysses would in packed order, and what no placement can beat.
///
/// The bound, per global batch: the mean of its steps, or what its heaviest sequence forces (`outlier_bound`), if that
/// is more. Errors: `range_error` beyond 128 bits. Complexity: O(n) on average in the sequences.
[[nodiscard]] inline placement_certificate certify(std::span<int128 const> work, layout const& l,
                                                   pool_partition const& pools, placement const& placed) {
  std::int32_t const largest = pools.largest();
  std::int32_t smallest = largest;
  for (std::int32_t g = 0; g < pools.size(); ++g) {
    smallest = std::min(smallest, pools.slots(pool_id(g)));
  }
  // Every term is an integer in units of work per slot over dp * largest * smallest.
  int128 const scale = checked_mul(checked_mul(l.dp, largest), largest == smallest ? 1 : smallest);
  auto const per_slot = [&](int128 amount, std::int32_t slots) { return checked_mul(amount, scale / slots); };

  placement_certificate certificate{.scale = scale};
  for (std::int32_t m = 0; m < placed.steps(); ++m) {
    int128 heaviest_slot = 0;
    for (std::int32_t d = 0; d < l.dp; ++d) {
      heaviest_slot = std::max(heaviest_slot, work[static_cast<std::size_t>(std::int64_t{m} * l.dp + d)]);
    }
    certificate.packed = checked_add(certificate.packed, checked_mul(heaviest_slot, scale));
    int128 heaviest_pool = 0;
    for (std::int32_t g = 0; g < pools.size(); ++g) {
      int128 sum = 0;
      for (sequence_id const s : placed.pool(micro_step_id(m), pool_id(g), pools)) {
        sum = checked_add(sum, work[s.index()]);
      }
      heaviest_pool = std::max(heaviest_pool, per_slot(sum, pools.slots(pool_id(g))));
    }
    certificate.makespan = checked_add(certificate.makespan, heaviest_pool);
  }
  auto const per_batch = static_cast<std::size_t>(l.sequences_per_batch());
  std::vector<int128> batch;
  for (std::size_t first = 0; first < placed.at.size(); first += per_batch) {
    batch.assign(work.begin() + static_cast<std::ptrdiff_t>(first),
                 work.begin() + static_cast<std::ptrdiff_t>(first + per_batch));
    int128 const total = std::accumulate(batch.begin(), batch.end(), int128{0}, checked_add);
    int128 const outlier = std::min(detail::outlier_bound(batch, total, largest, l.dp, scale),
                                    detail::outlier_bound(batch, total, smallest, l.dp, scale));
    certificate.mean = checked_add(certificate.mean, per_slot(total, l.dp));
    certificate.lower_bound = checked_add(certificate.lower_bound, std::max(per_slot(total, l.dp), outlier));
  }
  return certificate;
}

/// Certifies a dispatch: the work of the rank that takes longest in each pass, and the pool's uncut work spread evenly
/// over its ranks, both at their speeds.
///
/// Errors: `range_error` from the cost model or beyond 128 bits. Complexity: linear in segments and tiles.
template <cost_model Cost>
[[nodiscard]] pool_certificate certify(pool_batch const& batch, pool_dispatch const& dispatch, Cost const& cost) {
  wide_work whole;
  for (placed_segment const& s : batch.segments) {
    whole += scaled(
        cost(tile_shape{0, s.what.length, s.what.length, batch.shape.group(), batch.shape.head_dim, batch.shape.mask}),
        batch.shape.kv_heads);
  }
  std::vector<wide_work> ranks(static_cast<std::size_t>(batch.ranks()));
  pool_certificate certificate;
  for (pass const p : {pass::forward, pass::backward}) {
    for (tile const& t : dispatch.of(p)) {
      std::int64_t const amount = cost(batch.shape_of(t)).of(p);
      ranks[t.rank.index()] += p == pass::forward ? work{amount, 0} : work{0, amount};
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    std::int32_t const speed = batch.speed_of(rank_id(r));
    certificate.makespan = {std::max(certificate.makespan.forward, at_speed(ranks[r].forward, speed)),
                            std::max(certificate.makespan.backward, at_speed(ranks[r].backward, speed))};
    certificate.total += ranks[r];
  }
  std::int64_t const speed = batch.speed_of(0, batch.ranks());
  certificate.lower_bound = {at_speed(whole.forward, speed), at_speed(whole.backward, speed)};
  return certificate;
}

}  // namespace libra
