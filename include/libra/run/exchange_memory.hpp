#pragma once

#include <libra/core/ids.hpp>
#include <libra/plan/plan.hpp>

#include <algorithm>
#include <cstdint>

namespace libra {

/// What a rank keeps for the calls of a plan beside the tensors that it is given.
struct exchange_memory {
  std::int64_t workspace_bytes{};  ///< of the pass that needs more: both use the same
  std::int64_t delta_bytes{};

  [[nodiscard]] constexpr std::int64_t bytes() const noexcept { return workspace_bytes + delta_bytes; }
};

/// Pre: the plan has programs for the rank.
[[nodiscard]] inline exchange_memory exchange_memory_of(pool_plan const& plan, rank_id rank) noexcept {
  return {.workspace_bytes = std::max(plan.forward.ranks[rank.index()].workspace_bytes,
                                      plan.backward.ranks[rank.index()].workspace_bytes),
          .delta_bytes = plan.batch.local_tokens(rank) * plan.batch.shape.q_heads * plan.backward.width.statistic};
}

}  // namespace libra
