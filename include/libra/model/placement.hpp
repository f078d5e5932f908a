#pragma once

#include <libra/core/ids.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

/// The pools of every micro-step: consecutive data-parallel slots.
struct pool_partition {
  /// Shape: `[pools + 1]`. Pool g holds slots `[begin[g], begin[g + 1])`.
  std::vector<std::int32_t> begin{0};

  [[nodiscard]] std::int32_t size() const noexcept { return static_cast<std::int32_t>(begin.size()) - 1; }
  [[nodiscard]] std::int32_t dp() const noexcept { return begin.back(); }
  [[nodiscard]] std::int32_t first_slot(pool_id g) const noexcept { return begin[g.index()]; }
  [[nodiscard]] std::int32_t slots(pool_id g) const noexcept { return begin[g.index() + 1] - begin[g.index()]; }
  [[nodiscard]] std::int32_t largest() const noexcept {
    std::int32_t most = 0;
    for (std::int32_t g = 0; g < size(); ++g) {
      most = std::max(most, slots(pool_id(g)));
    }
    return most;
  }

  friend bool operator==(pool_partition const&, pool_partition const&) = default;
};

/// A sequence's place in the job.
struct slot_ref {
  micro_step_id micro_step;
  pool_id pool;
  slot_id slot;

  friend constexpr auto operator<=>(slot_ref const&, slot_ref const&) = default;
};

/// A placer's result: which packed sequence each slot of each micro-step takes.
///
/// Placement permutes inside one global batch; sequences of the last, unfilled batch have no place.
struct placement {
  std::int32_t dp{};
  std::int32_t micro_steps{};  ///< per global batch
  /// Shape: `[global_batches * micro_steps, dp]`.
  std::vector<sequence_id> at;

  [[nodiscard]] std::int32_t steps() const noexcept {
    return dp == 0 ? 0 : static_cast<std::int32_t>(at.size() / static_cast<std::size_t>(dp));
  }
  [[nodiscard]] std::int32_t global_batches() const noexcept { return micro_steps == 0 ? 0 : steps() / micro_steps; }
  /// The sequences of one micro-step, by slot.
  [[nodiscard]] std::span<sequence_id const> step(micro_step_id m) const noexcept {
    return std::span(at).subspan(m.index() * static_cast<std::size_t>(dp), static_cast<std::size_t>(dp));
  }
  /// The sequences of one pool of one micro-step, by slot.
  [[nodiscard]] std::span<sequence_id const> pool(micro_step_id m, pool_id g,
                                                  pool_partition const& pools) const noexcept {
    return step(m).subspan(static_cast<std::size_t>(pools.first_slot(g)), static_cast<std::size_t>(pools.slots(g)));
  }

  friend bool operator==(placement const&, placement const&) = default;
};

}  // namespace libra
