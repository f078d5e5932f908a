#pragma once

#include <libra/cost/concept.hpp>
#include <libra/dispatch/concept.hpp>
#include <libra/pack/concept.hpp>
#include <libra/place/concept.hpp>
#include <libra/plan/plan.hpp>
#include <libra/pool/concept.hpp>

#include <cstdint>
#include <span>
#include <utility>

namespace libra {

/// Composes one policy per seam into a planner.
///
/// `plan` packs and places a whole list; every rank runs it alike. `plan_pool` then dispatches and lowers one pool;
/// each rank runs it for its own pool only.
template <packer Packer, pool_partitioner Pools, placer Placer, dispatcher Dispatcher, cost_model Cost>
  requires dispatcher_for<Dispatcher, Cost>
class scheduler {
 public:
  constexpr scheduler(Packer pack, Pools pools, Placer place, Dispatcher dispatch, Cost cost)
      : pack_(std::move(pack)),
        pools_(std::move(pools)),
        place_(std::move(place)),
        dispatch_(std::move(dispatch)),
        cost_(std::move(cost)) {}

  [[nodiscard]] batch_plan plan(std::span<std::int64_t const> lengths, layout const& l, plan_options const& options = {}) const;
  [[nodiscard]] pool_plan plan_pool(batch_plan const& batch, micro_step_id m, pool_id g) const;

  [[nodiscard]] constexpr Cost const& cost() const noexcept { return cost_; }

 private:
  Packer pack_;
  Pools pools_;
  Placer place_;
  Dispatcher dispatch_;
  Cost cost_;
};

}  // namespace libra
