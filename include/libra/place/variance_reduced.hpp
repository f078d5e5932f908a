#pragma once

#include <libra/place/batches.hpp>
#include <libra/place/concept.hpp>
#include <libra/place/fill.hpp>
#include <libra/place/levels.hpp>
#include <libra/place/longest_first.hpp>
#include <libra/place/pipeline_order.hpp>
#include <libra/place/step_former.hpp>
#include <libra/place/threshold_refiner.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace libra {

/// Complementary sequences share a pool, over the whole global batch, so that what waits for each other is alike.
///
/// Where all ranks wait for each other in every micro-step, `step_former` forms steps of like weight and levels their
/// pools; through several pipeline stages steps of even weight may pass sooner and are tried too. Where pools go their
/// own way until the end of the batch, each takes an even share of it, longest first. The cheapest is refined by
/// `threshold_refiner`, and the steps are put into an order that passes a pipeline quickly.
///
/// Complexity: O(n log n) in the sequences, plus the refinement's moves. Determinism: integers, ties by lowest number.
struct variance_reduced {
  static constexpr std::string_view name = "variance_reduced";

  placement_goal goal{};
  /// Most exchanges that are weighed, per global batch; 0 leaves the levelled pools as they are. A batch of few
  /// sequences takes less: twice the square of their number.
  std::int64_t refine_moves{100'000};
  /// What a micro-step takes beside attention, in work per slot: it has a say in the order of pipelined steps.
  int128 step_work{0};

  [[nodiscard]] placement operator()(std::span<int128 const> work, layout const& l, pool_partition const& pools) const {
    require(goal.stages >= 1, "stages is ", goal.stages, ", expected at least 1");
    return goal.sync == synchronisation::layer ? place<layer_levels>(work, l, pools)
                                               : place<batch_levels>(work, l, pools);
  }

 private:
  /// What steps of like weight may cost more before they are levelled.
  static constexpr std::int32_t like_percent = 2;

  template <template <class> class Levels>
  [[nodiscard]] placement place(std::span<int128 const> work, layout const& l, pool_partition const& pools) const {
    placement placed = packed_order(work.size(), l, pools);
    auto const per_batch = static_cast<std::size_t>(l.sequences_per_batch());
    auto const n = static_cast<std::int64_t>(per_batch);
    std::int64_t const moves = std::min(refine_moves, std::max<std::int64_t>(1000, 2 * n * n));
    step_former former(work, l, pools);
    threshold_refiner<Levels> refiner(work, pools, static_cast<std::size_t>(l.micro_steps), goal.stages);
    std::vector<sequence_id> even;
    std::vector<sequence_id> scratch(per_batch);
    for (std::size_t first = 0; first < placed.at.size(); first += per_batch) {
      std::span<sequence_id> const at = std::span(placed.at).subspan(first, per_batch);
      if (goal.sync == synchronisation::batch || goal.stages > 1) {
        even.assign(at.begin(), at.end());
        longest_first::place_batch(even, scratch, work, l, pools);
        if (goal.sync == synchronisation::batch) {
          spread_pools(even, work, l, pools);
        }
      }
      former.place(at, goal.stages);
      if (!even.empty() && refiner.cost_of(even) < refiner.cost_of(at)) {
        std::ranges::copy(even, at.begin());
      }
      refiner.refine(at, moves);
      if (moves > 0 && goal.sync == synchronisation::layer && goal.stages == 1 && l.micro_steps > 2) {
        gather_likes(at, moves, work, l, pools, refiner);
      }
      order_steps(at, work, pools);
    }
    return placed;
  }

  /// Forms the steps anew but the heaviest, where the refiner's exchanges have scattered heavy sequences over light
  /// steps: what is then computed elsewhere has to travel. Kept unless it costs a part in 500 more.
  template <class Refiner>
  static void gather_likes(std::span<sequence_id> at, std::int64_t moves, std::span<int128 const> work, layout const& l,
                           pool_partition const& pools, Refiner& refiner) {
    auto const dp = static_cast<std::size_t>(l.dp);
    std::size_t heaviest = 0;
    int128 most = -1;
    for (std::size_t m = 0; m * dp < at.size(); ++m) {
      int128 sum = 0;
      for (sequence_id const s : at.subspan(m * dp, dp)) {
        sum += work[s.index()];
      }
      heaviest = sum > most ? m : heaviest;
      most = std::max(most, sum);
    }
    std::vector<sequence_id> gathered(at.begin(), at.end());
    std::rotate(gathered.begin(), gathered.begin() + static_cast<std::ptrdiff_t>(heaviest * dp),
                gathered.begin() + static_cast<std::ptrdiff_t>((heaviest + 1) * dp));
    std::span<sequence_id> const rest = std::span(gathered).subspan(dp);
    layout fewer = l;
    --fewer.micro_steps;
    step_former(work, fewer, pools).place(rest, 1, like_percent);
    threshold_refiner<layer_levels>(work, pools, static_cast<std::size_t>(fewer.micro_steps)).level(rest, moves);
    int128 const now = refiner.cost_of(at);
    if (refiner.cost_of(gathered) <= now + now / 500) {
      std::ranges::copy(gathered, at.begin());
    }
  }

  /// Gives each pool number an even share of the batch, longest first, and spreads it over the steps likewise.
  static void spread_pools(std::span<sequence_id> at, std::span<int128 const> work, layout const& l,
                           pool_partition const& pools) {
    std::vector<sequence_id> shares(at.size());
    std::vector<bin> bins;
    std::size_t first = 0;
    for (std::int32_t g = 0; g < pools.size(); ++g) {
      bins.push_back({.first = first, .slots = pools.slots(pool_id(g)) * l.micro_steps});
      first += static_cast<std::size_t>(bins.back().slots);
    }
    sort_heaviest_first(at, work);
    fill_longest_first(at, work, bins, shares);
    std::vector<bin> steps;
    for (std::int32_t g = 0; g < pools.size(); ++g) {
      steps.clear();
      for (std::int32_t m = 0; m < l.micro_steps; ++m) {
        auto const slot = static_cast<std::size_t>(std::int64_t{m} * l.dp + pools.first_slot(pool_id(g)));
        steps.push_back({.first = slot, .slots = pools.slots(pool_id(g))});
      }
      bin const& share = bins[static_cast<std::size_t>(g)];
      fill_longest_first(std::span(shares).subspan(share.first, static_cast<std::size_t>(share.slots)), work, steps,
                         at);
    }
  }

  /// Puts the steps into an order for the pipeline: all pools together, or each pool number on its own.
  void order_steps(std::span<sequence_id> at, std::span<int128 const> work, pool_partition const& pools) const {
    auto const dp = static_cast<std::size_t>(pools.dp());
    std::size_t const steps = at.size() / dp;
    std::vector<int128> costs(steps);
    std::vector<sequence_id> const before(at.begin(), at.end());
    auto const permute = [&](std::size_t first_slot, std::size_t slots) {
      std::vector<std::size_t> const order = pipeline_order(costs, goal.stages);
      for (std::size_t m = 0; m < steps; ++m) {
        std::ranges::copy(std::span(before).subspan(order[m] * dp + first_slot, slots),
                          at.subspan(m * dp + first_slot).begin());
      }
    };
    if (goal.stages == 1) {
      return;
    }
    bool const together = goal.sync == synchronisation::layer;
    for (std::int32_t g = 0; g < pools.size(); ++g) {
      auto const first = static_cast<std::size_t>(pools.first_slot(pool_id(g)));
      auto const slots = static_cast<std::size_t>(pools.slots(pool_id(g)));
      for (std::size_t m = 0; m < steps; ++m) {
        int128 load = 0;
        for (sequence_id const s : std::span(before).subspan(m * dp + first, slots)) {
          load += work[s.index()];
        }
        int128 const level = ceil_div(load, static_cast<std::int64_t>(slots)) + step_work;
        costs[m] = together && g > 0 ? std::max(costs[m], level) : level;
      }
      if (!together) {
        permute(first, slots);
      }
    }
    if (together) {
      permute(0, dp);
    }
  }
};
static_assert(placer<variance_reduced>);

}  // namespace libra
