#pragma once

#include <libra/core/wide.hpp>
#include <libra/model/work.hpp>

namespace libra {

/// Proof of how good a placement is, summed over the micro-steps of all global batches.
///
/// Units: work per slot times `scale`, so that unequal pools are compared exactly. `lower_bound <= makespan <= packed`
/// does not hold for every placer (as_packed alone may be worse), `lower_bound <= makespan` always does.
struct placement_certificate {
  int128 scale{1};
  int128 mean{};         ///< work spread evenly over all slots
  int128 packed{};       ///< the largest slot of each micro-step in packed order: Ulysses
  int128 makespan{};     ///< the largest pool of each micro-step, per slot
  int128 lower_bound{};  ///< no placement's makespan is below it

  [[nodiscard]] double ulysses_over_mean() const noexcept { return ratio(packed, mean); }
  [[nodiscard]] double placed_over_mean() const noexcept { return ratio(makespan, mean); }
  [[nodiscard]] double lower_bound_over_mean() const noexcept { return ratio(lower_bound, mean); }

  friend constexpr bool operator==(placement_certificate const&, placement_certificate const&) = default;
};

/// Proof of how good a pool's dispatch is: the largest rank's work against the pool's work spread evenly.
///
/// Units of makespan and bound: work that a rank of speed 1 does in the time; where all ranks have that speed, a rank's
/// work and the mean.
struct pool_certificate {
  wide_work makespan;
  wide_work lower_bound;
  /// Work of the pool's tiles as cut, over all ranks.
  wide_work total;

  /// How far the makespan may be above the best possible one, as a fraction of the latter.
  [[nodiscard]] double gap() const noexcept {
    int128 const least = lower_bound.forward + lower_bound.backward;
    return least == 0 ? 0.0 : ratio(makespan.forward + makespan.backward - least, least);
  }

  friend constexpr bool operator==(pool_certificate const&, pool_certificate const&) = default;
};

}  // namespace libra
