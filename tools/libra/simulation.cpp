#include "simulation.hpp"

#include "progress.hpp"
#include "workspace_limit.hpp"

#include <libra/core/ids.hpp>
#include <libra/sim/kernel_time.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace libra::tools {

simulation::simulation(documents const& docs, packing packed, system_setting const& setting)
    : config_(setting.config),
      plan_(make_planner(config_, config_.policies.dispatcher)),
      batch_(plan_.place(docs.lengths, std::move(packed), config_.layout, config_.planning)) {
  sim::kernel_time const time(config_.machine.attention);
  progress bar(setting.what, std::int64_t{batch_.placement.steps()} * batch_.pools.size());
  workspace_limit limit;
  times_ = sim::time_layers(batch_, [&](micro_step_id m, pool_id g) {
    sim::layer_time const t =
        sim::time_layer(clock_, limit.plan(batch_, plan_.draft_pool, m, g), config_.machine, time);
    bar.advance();
    return t;
  });
  limit.require_kept();
}

sim::step_timing simulation::step(sim::step_options const& options) const {
  return sim::training_step(batch_, times_, config_.machine, options);
}

sim::step_bound simulation::bound(sim::step_options const& options) const {
  return sim::bound_of(batch_, config_.machine, options);
}

trace_process simulation::trace(std::string_view system) {
  auto const slowest = std::ranges::max_element(
      times_, {}, [](sim::layer_time const& t) { return t.attention.forward + t.attention.backward; });
  auto const index = static_cast<std::int32_t>(slowest - times_.begin());
  std::int32_t const pools = batch_.pools.size();
  pool_plan const pool = plan_.draft_pool(batch_, micro_step_id(index / pools), pool_id(index % pools));
  sim::kernel_time const time(config_.machine.attention);
  trace_process process{
      .name = fmt::format("{}: micro-step {}, pool {}, one layer", system, index / pools, index % pools), .events = {}};
  std::int64_t begin_ps = 0;
  for (pass const p : {pass::forward, pass::backward}) {
    sim::pool_timing const timing = clock_.run(pool.batch, pool.of(p), config_.machine, time);
    for (std::int32_t r = 0; r < pool.batch.ranks(); ++r) {
      program const& code = pool.of(p).ranks[rank_id(r).index()];
      auto const spans = clock_.spans(rank_id(r));
      for (std::size_t i = 0; i < spans.size(); ++i) {
        process.events.push_back({.what = name_of(code.ops[i].kind),
                                  .rank = r,
                                  .lane = code.ops[i].on,
                                  .begin_ps = begin_ps + spans[i].start_ps,
                                  .duration_ps = spans[i].duration_ps()});
      }
    }
    begin_ps += timing.makespan_ps;
  }
  return process;
}

std::optional<simulation> simulate_within_limit(documents const& docs, packing packed, system_setting const& setting,
                                                std::optional<workspace_error>& least) {
  try {
    return std::optional<simulation>(std::in_place, docs, std::move(packed), setting);
  } catch (workspace_error const& e) {
    keep_smaller_need(least, e);
    return std::nullopt;
  }
}

packing pack_for(documents const& docs, configuration config, sharding home) {
  config.planning.home = home;
  return make_planner(config, config.policies.dispatcher).pack(docs.lengths, config.layout, config.planning);
}

sim::step_options step_options_of(configuration const& config, bool recompute) {
  return {.layers = config.model.layers,
          .active_parameters = config.model.active_parameters,
          .tensor_parallel = config.tp,
          .stages = config.goal.stages,
          .sync = config.goal.sync,
          .recompute = recompute};
}

}  // namespace libra::tools
