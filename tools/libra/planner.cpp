#include "planner.hpp"

#include "registry.hpp"

#include <libra/plan/scheduler.hpp>
#include <libra/sim/training_step.hpp>

#include <algorithm>
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
      .draft_pool = [schedule](batch_plan const& batch, micro_step_id m,
                               pool_id g) { return schedule.draft_pool(batch, m, g); },
      .locality = [schedule](pool_plan const& plan) { return locality_of(plan, schedule.cost()); },
  };
}

/// What a slot's ranks do beside attention in one layer of a micro-step, in the cost model's units. Only pipelines ask;
/// pairs do not compare with it.
int128 step_work(configuration const& config) {
  if (config.goal.stages == 1 || config.policies.cost == pair_count::name) {
    return 0;
  }
  layout l = config.layout;
  l.micro_steps = std::max(1, l.micro_steps);
  work const linear = sim::linear_work(l, config.machine,
                                       {.layers = config.model.layers,
                                        .active_parameters = config.model.active_parameters,
                                        .tensor_parallel = config.tp,
                                        .stages = config.goal.stages});
  return (int128{linear.forward} + linear.backward) * l.cp / config.model.layers;
}

}  // namespace

planner make_planner(configuration const& config, std::string_view dispatcher) {
  auto const make = [&](auto const& dispatch, auto const& cost) {
    return erased(scheduler(make_packer(config.policies.packer, config.when_overlong), make_pools("fixed_size"),
                            make_placer(config.policies.placer, config.goal, step_work(config)), dispatch, cost));
  };
  any_dispatcher chosen = make_dispatcher(dispatcher);
  if (auto* const rings = std::get_if<usp>(&chosen)) {
    rings->head_ranks = config.usp_head_ranks;
  }
  return std::visit(make, chosen, make_cost(config.policies.cost, config.machine, config.planning.shape.head_dim));
}

}  // namespace libra::tools
