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
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace libra {

/// Certifies a placement: what it achieves, what Ulysses would in packed order, and what no placement can beat.
///
/// The bound, per global batch of work W with heaviest sequence w, largest pool p and the dp heaviest sequences' work
/// S: every step is at least its mean, and the step that holds w is at least w / p while the others hold at least W -
/// S. So the makespan is at least max(W / dp, w / p + (W - S) / dp).
///
/// Errors: `range_error` beyond 128 bits. Complexity: O(n) expected in the sequences.
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
    std::ranges::nth_element(batch, batch.begin() + l.dp - 1, std::greater<>{});
    int128 const top = std::accumulate(batch.begin(), batch.begin() + l.dp, int128{0}, checked_add);
    int128 const total = std::accumulate(batch.begin() + l.dp, batch.end(), top, checked_add);
    int128 const heaviest = *std::ranges::max_element(batch);
    certificate.mean = checked_add(certificate.mean, per_slot(total, l.dp));
    int128 const with_outlier = checked_add(per_slot(heaviest, largest), per_slot(total - top, l.dp));
    certificate.lower_bound = checked_add(certificate.lower_bound, std::max(per_slot(total, l.dp), with_outlier));
  }
  return certificate;
}

/// Certifies a dispatch: the largest rank's work in each pass, and the pool's uncut work spread evenly over its ranks.
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
  for (wide_work const& r : ranks) {
    certificate.makespan = {std::max(certificate.makespan.forward, r.forward),
                            std::max(certificate.makespan.backward, r.backward)};
    certificate.total += r;
  }
  certificate.lower_bound = {ceil_div(whole.forward, batch.ranks()), ceil_div(whole.backward, batch.ranks())};
  return certificate;
}

}  // namespace libra
