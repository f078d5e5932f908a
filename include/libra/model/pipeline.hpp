#pragma once

#include <libra/core/error.hpp>
#include <libra/model/work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

/// Who waits for whom.
enum class synchronisation : std::uint8_t {
  layer,  ///< all ranks of a micro-step, in each layer's forward and in its backward pass (experts, ZeRO-3)
  batch,  ///< a pool's ranks in each layer, all ranks at the end of a global batch
};

/// How long one global batch takes on pipeline stages that run one forward, one backward (1F1B).
///
/// Stage s of S first runs the forward passes of S - 1 - s micro-steps, then alternates, then runs the backward passes
/// that are left. A micro-step's forward pass waits for the stage before, its backward pass for the stage after; what
/// the stages send each other costs nothing. With equal costs of f and b that is (M + S - 1) * (f + b).
///
/// Shape: `costs` is `[stages, micro_steps]`. Units: picoseconds. Errors: `input_error` naming a number of stages that
/// does not divide the costs. Complexity: O(stages^2 * micro_steps).
/// Source: PipeDream-flush (Narayanan et al., "Memory-efficient pipeline-parallel DNN training", 2021).
[[nodiscard]] inline std::int64_t one_forward_one_backward(std::span<work const> costs, std::int32_t stages) {
  require(stages >= 1, "stages is ", stages, ", expected at least 1");
  auto const rows = static_cast<std::size_t>(stages);
  require(costs.size() % rows == 0, "stages is ", stages, ", expected a divisor of the ", costs.size(), " costs");
  std::size_t const micro_steps = costs.size() / rows;

  struct stage {
    std::size_t forwards{};  ///< how many have ended
    std::size_t backwards{};
    std::int64_t free_ps{};
  };
  std::vector<stage> at(rows);
  // Shape: [stages, micro_steps].
  std::vector<std::int64_t> forward_end(costs.size());
  std::vector<std::int64_t> backward_end(costs.size());

  /// Runs the stage's next pass if what it waits for has ended.
  auto const run_next = [&](std::size_t s) {
    stage& mine = at[s];
    std::size_t const ahead = std::min(micro_steps, rows - 1 - s);
    bool const forward = mine.forwards < std::min(micro_steps, ahead + mine.backwards + 1);
    std::size_t const m = forward ? mine.forwards : mine.backwards;
    std::size_t const cell = s * micro_steps + m;
    std::int64_t input_ps = 0;
    if (forward && s > 0) {
      if (at[s - 1].forwards <= m) return false;
      input_ps = forward_end[cell - micro_steps];
    } else if (!forward && s + 1 < rows) {
      if (at[s + 1].backwards <= m) return false;
      input_ps = backward_end[cell + micro_steps];
    }
    mine.free_ps = std::max(mine.free_ps, input_ps) + (forward ? costs[cell].forward : costs[cell].backward);
    (forward ? forward_end : backward_end)[cell] = mine.free_ps;
    ++(forward ? mine.forwards : mine.backwards);
    return true;
  };
  std::int64_t end_ps = 0;
  // Each sweep advances every stage that is not waiting; the last stage never waits for long, so this ends.
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < rows; ++s) {
      while (at[s].backwards < micro_steps && run_next(s)) {
        moved = true;
      }
      end_ps = std::max(end_ps, at[s].free_ps);
    }
  }
  return end_ps;
}

}  // namespace libra
