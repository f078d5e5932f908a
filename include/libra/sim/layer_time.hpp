#pragma once

#include <libra/core/checked.hpp>
#include <libra/core/wide.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/model/machine.hpp>
#include <libra/model/speeds.hpp>
#include <libra/model/work.hpp>
#include <libra/plan/plan.hpp>
#include <libra/sim/engine.hpp>
#include <libra/sim/kernel_time.hpp>
#include <libra/sim/timing.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra::sim {

/// What one layer's attention costs one pool in one micro-step: all that a training step needs to know of it.
struct layer_time {
  /// Picoseconds until the last rank has ended, of each pass.
  work attention;
  /// Picoseconds that the busiest rank computes in both passes; the second counts the forward pass twice.
  std::array<std::int64_t, 2> busy_ps{};
  /// Bytes that one rank sends or receives in both passes, whichever is more; the rank with most.
  std::int64_t max_bytes{};
  std::int32_t ranks_per_exchange{};

  friend constexpr bool operator==(layer_time const&, layer_time const&) = default;
};

/// Joins what the two passes of a pool took.
[[nodiscard]] inline layer_time join_passes(pool_timing const& forward, pool_timing const& backward,
                                            std::int32_t ranks_per_exchange) {
  layer_time result{.attention = {forward.makespan_ps, backward.makespan_ps},
                    .busy_ps = {},
                    .max_bytes = 0,
                    .ranks_per_exchange = ranks_per_exchange};
  for (std::size_t r = 0; r < forward.ranks.size(); ++r) {
    rank_timing const& f = forward.ranks[r];
    rank_timing const& b = backward.ranks[r];
    for (std::int64_t runs = 1; runs <= 2; ++runs) {
      std::int64_t& busy = result.busy_ps[static_cast<std::size_t>(runs - 1)];
      busy = std::max(busy, runs * f.compute_busy_ps + b.compute_busy_ps);
    }
    result.max_bytes =
        std::max({result.max_bytes, f.bytes_sent() + b.bytes_sent(), f.bytes_received() + b.bytes_received()});
  }
  return result;
}

/// Times both passes of a pool. Errors: those of `engine::run`.
template <tile_time Time>
[[nodiscard]] layer_time time_layer(engine& clock, pool_plan const& plan, machine const& rates, Time const& time) {
  pool_timing const forward = clock.run(plan.batch, plan.forward, rates, time);
  pool_timing const backward = clock.run(plan.batch, plan.backward, rates, time);
  return join_passes(forward, backward, plan.dispatch.ranks_per_exchange);
}

/// What no dispatch and no exchange can beat: a pool's segments as uncut tiles, spread over its ranks in
/// proportion to their speeds.
///
/// Only `attention` and `ranks_per_exchange`, which is 0, are of use. Pre: the machine's rates are those that the pool
/// is timed with. Errors: `range_error` beyond the integers. Complexity: linear in the pool's segments.
[[nodiscard]] inline layer_time least_layer_time(batch_plan const& plan, micro_step_id m, pool_id g,
                                                 machine const& rates) {
  roofline const cost(rates.attention);
  attention_shape const& shape = plan.options.shape;
  wide_work sum;
  for (sequence_id const s : plan.placement.pool(m, g, plan.pools)) {
    for (segment const& piece : plan.packing.sequences[s.index()]) {
      sum += scaled(cost(tile_shape{0, piece.length, piece.length, shape.group(), shape.head_dim, shape.mask}),
                    shape.kv_heads);
    }
  }
  auto const ranks = static_cast<std::size_t>(std::int64_t{plan.pools.slots(g)} * plan.layout.cp);
  auto const first = static_cast<std::size_t>(std::int64_t{plan.pools.first_slot(g)} * plan.layout.cp);
  std::span<std::int32_t const> const all = plan.options.speeds_permille;
  std::int64_t const speed =
      sum_of_speeds(all.empty() ? all : all.subspan(first, ranks), static_cast<std::int64_t>(ranks));
  auto const least_ps = [&](int128 work_ps) {
    return checked_int64(checked_mul(work_ps, unit_speed_permille) / speed, "a pool's picoseconds");
  };
  layer_time least;
  least.attention = {least_ps(sum.forward), least_ps(sum.backward)};
  return least;
}

/// Times every pool of every micro-step through `time_pool(micro_step_id, pool_id)`, which may plan and simulate the
/// pool or know its time already. Shape: `[micro-steps of all global batches, pools]`.
template <class TimePool>
  requires std::same_as<std::invoke_result_t<TimePool&, micro_step_id, pool_id>, layer_time>
[[nodiscard]] std::vector<layer_time> time_layers(batch_plan const& plan, TimePool time_pool) {
  std::vector<layer_time> times;
  times.reserve(static_cast<std::size_t>(plan.placement.steps()) * static_cast<std::size_t>(plan.pools.size()));
  for (std::int32_t m = 0; m < plan.placement.steps(); ++m) {
    for (std::int32_t g = 0; g < plan.pools.size(); ++g) {
      times.push_back(time_pool(micro_step_id(m), pool_id(g)));
    }
  }
  return times;
}

}  // namespace libra::sim
