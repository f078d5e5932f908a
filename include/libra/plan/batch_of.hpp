#pragma once

#include <libra/core/error.hpp>
#include <libra/plan/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace libra {

/// What one pool of one micro-step computes: its slots' segments and where they lie, and how fast its ranks are.
///
/// Errors: `input_error` naming a micro-step or pool that the plan does not have.
[[nodiscard]] inline pool_batch batch_of(batch_plan const& plan, micro_step_id m, pool_id g) {
  require(m.value >= 0 && m.value < plan.placement.steps(), "micro-step is ", m.value, ", expected 0 to ",
          plan.placement.steps() - 1);
  require(g.value >= 0 && g.value < plan.pools.size(), "pool is ", g.value, ", expected 0 to ", plan.pools.size() - 1);
  pool_batch batch{.shape = plan.options.shape,
                   .home = {plan.layout.window_tokens, plan.layout.cp, plan.options.home},
                   .slots = plan.pools.slots(g),
                   .first_rank = std::int64_t{plan.pools.first_slot(g)} * plan.layout.cp,
                   .segments = {},
                   .zigzag_begin = {},
                   .zigzag_rows = {}};
  if (std::span const speeds = speeds_of_pool(plan, g); !all_speeds_one(speeds)) {
    batch.speeds_permille.assign(speeds.begin(), speeds.end());
  }
  auto const sequences = plan.placement.pool(m, g, plan.pools);
  for (std::size_t slot = 0; slot < sequences.size(); ++slot) {
    std::int64_t position = 0;
    for (segment const& s : plan.packing.sequences[sequences[slot].index()]) {
      batch.segments.push_back({s, sequences[slot], slot_id(slot), position});
      position += s.length;
    }
  }
  batch.number_rows();
  return batch;
}

}  // namespace libra
