#pragma once

#include <libra/core/wide.hpp>
#include <libra/model/pipeline.hpp>
#include <libra/model/work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace libra {

/// An order of micro-steps in which they pass quickly through pipeline stages that run one forward, one backward.
///
/// `costs` are what the steps take on every stage; two parts of seven of it are forward, as of the matrix products of
/// attention. The given order, rising and falling ones are timed, and the best is improved by exchanging two steps at a
/// time. Returns the positions in `costs` in the order to run. Complexity: at most `most_timings` simulations of
/// O(stages
/// * stages * steps). Determinism: integers; among equals the order that was tried first.
[[nodiscard]] inline std::vector<std::size_t> pipeline_order(std::span<int128 const> costs, std::int32_t stages) {
  constexpr int most_timings = 400;
  std::size_t const steps = costs.size();
  std::vector<std::size_t> order(steps);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (stages == 1 || steps < 3) {
    return order;  // two steps take the same time either way
  }
  // Timing is in 64 bits; what is dropped to get there decides about nothing that can be seen.
  int128 const total = std::accumulate(costs.begin(), costs.end(), int128{0});
  int shift = 0;
  while (total >> shift > std::numeric_limits<std::int64_t>::max() / 4 / (stages + 1)) {
    ++shift;
  }
  std::vector<work> row(steps * static_cast<std::size_t>(stages));
  auto const time_of = [&](std::vector<std::size_t> const& candidate) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      auto const cost = static_cast<std::int64_t>(costs[candidate[i % steps]] >> shift);
      row[i] = {cost / 7 * 2, cost - cost / 7 * 2};
    }
    return one_forward_one_backward(row, stages);
  };
  std::int64_t least = time_of(order);
  int timings = 1;
  auto const take_if_better = [&](std::vector<std::size_t> const& candidate) {
    std::int64_t const time = time_of(candidate);
    ++timings;
    if (time >= least) {
      return false;
    }
    least = time;
    order = candidate;
    return true;
  };
  std::vector<std::size_t> candidate = order;
  std::ranges::stable_sort(candidate, {}, [&](std::size_t m) { return costs[m]; });
  take_if_better(candidate);
  std::ranges::reverse(candidate);
  take_if_better(candidate);
  for (bool better = true; better && timings < most_timings;) {
    better = false;
    for (std::size_t a = 0; a < steps && timings < most_timings; ++a) {
      for (std::size_t b = a + 1; b < steps && timings < most_timings; ++b) {
        candidate = order;
        std::swap(candidate[a], candidate[b]);
        better = take_if_better(candidate) || better;
      }
    }
  }
  return order;
}

}  // namespace libra
