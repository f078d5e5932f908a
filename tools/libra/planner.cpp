#include "planner.hpp"

#include "registry.hpp"

#include <libra/plan/scheduler.hpp>

#include <utility>
#include <variant>

namespace libra::tools {
namespace {

template <class Scheduler>
planner erased(Scheduler const& schedule) {
  return {
      .pack = [schedule](std::span<std::int64_t const> lengths, layout const& l,
                         plan_options const& options) { return schedule.pack(lengths, l, options); },
      .place = [schedule](
                   std::span<std::int64_t const> lengths, packing packed, layout const& l,
                   plan_options const& options) { return schedule.place(lengths, std::move(packed), l, options); },
      .plan_pool = [schedule](batch_plan const& batch, micro_step_id m,
                              pool_id g) { return schedule.plan_pool(batch, m, g); },
      .locality = [schedule](pool_plan const& plan) { return locality_of(plan, schedule.cost()); },
  };
}

}  // namespace

planner make_planner(configuration const& config, std::string_view dispatcher) {
  auto const make = [&](auto const& dispatch, auto const& cost) {
    return erased(scheduler(make_packer(config.policies.packer, config.when_overlong), make_pools("fixed_size"),
                            make_placer(config.policies.placer), dispatch, cost));
  };
  any_dispatcher chosen = make_dispatcher(dispatcher);
  if (auto* const rings = std::get_if<usp>(&chosen)) {
    rings->head_ranks = config.usp_head_ranks;
  }
  return std::visit(make, chosen, make_cost(config.policies.cost, config.machine));
}

}  // namespace libra::tools
