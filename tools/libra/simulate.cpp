#include "commands.hpp"
#include "output.hpp"
#include "prepare.hpp"
#include "progress.hpp"
#include "systems.hpp"
#include "text.hpp"
#include "values.hpp"

#include <libra/core/error.hpp>
#include <libra/core/ids.hpp>
#include <libra/io/simulate_report.hpp>
#include <libra/io/trace_json.hpp>
#include <libra/sim/engine.hpp>
#include <libra/sim/kernel_time.hpp>
#include <libra/sim/layer_time.hpp>
#include <libra/sim/training_step.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace libra::tools {
namespace {

struct simulate_configuration {
  std::vector<std::string_view> systems;
  sim::step_options step;
};

/// Plans a setting and times every pool of every micro-step.
class simulation {
 public:
  simulation(documents const& docs, packing packed, system_setting const& setting)
      : config_(setting.config),
        plan_(make_planner(config_, config_.policies.dispatcher)),
        batch_(plan_.place(docs.lengths, std::move(packed), config_.layout, config_.planning)) {
    sim::kernel_time const time(config_.machine.attention);
    progress bar(setting.what, std::int64_t{batch_.placement.steps()} * batch_.pools.size());
    times_ = sim::time_layers(batch_, [&](micro_step_id m, pool_id g) {
      sim::layer_time const t = sim::time_layer(clock_, plan_.plan_pool(batch_, m, g), config_.machine, time);
      bar.advance();
      return t;
    });
  }

  [[nodiscard]] sim::step_timing step(sim::step_options const& options) const {
    return sim::training_step(batch_, times_, config_.machine, options);
  }
  [[nodiscard]] sim::step_bound bound(sim::step_options const& options) const {
    return sim::bound_of(batch_, config_.machine, options);
  }

  /// The slowest pool of all micro-steps, forward and backward, op by op.
  [[nodiscard]] trace_process trace(std::string_view system) {
    auto const slowest = std::ranges::max_element(
        times_, {}, [](sim::layer_time const& t) { return t.attention.forward + t.attention.backward; });
    auto const index = static_cast<std::int32_t>(slowest - times_.begin());
    std::int32_t const pools = batch_.pools.size();
    pool_plan const pool = plan_.plan_pool(batch_, micro_step_id(index / pools), pool_id(index % pools));
    sim::kernel_time const time(config_.machine.attention);
    trace_process process{
        .name = fmt::format("{}: micro-step {}, pool {}, one layer", system, index / pools, index % pools),
        .events = {}};
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

 private:
  configuration config_;
  planner plan_;
  batch_plan batch_;
  sim::engine clock_;
  std::vector<sim::layer_time> times_;
};

/// Packs once per kind of home, since packs are arranged for contiguous ones.
class packs {
 public:
  packs(documents const& docs, configuration const& base) : docs_(docs), base_(base) {}

  [[nodiscard]] packing get(sharding home) const {
    configuration config = base_;
    config.planning.home = home;
    return make_planner(config, config.policies.dispatcher).pack(docs_.lengths, config.layout, config.planning);
  }

 private:
  documents const& docs_;
  configuration const& base_;
};

struct simulated {
  simulate_report report;
  std::vector<trace_process> traces;
};

simulated simulate(prepared_plan const& prepared, simulate_configuration const& chosen, bool traced) {
  packs const packed(prepared.docs, prepared.config);
  simulated result;
  for (std::string_view const system : chosen.systems) {
    simulated_system best;
    trace_process trace;
    for (system_setting const& setting : settings_of(system, prepared.config)) {
      simulation run(prepared.docs, packed.get(setting.config.planning.home), setting);
      sim::step_timing const timing = run.step(chosen.step);
      if (best.system.empty() || timing.step_seconds < best.timing.step_seconds) {
        best = {.system = std::string(system), .setting = setting.what, .timing = timing};
        result.report.bound = run.bound(chosen.step);
        if (traced) trace = run.trace(system);
      }
    }
    result.report.systems.push_back(std::move(best));
    if (traced) result.traces.push_back(std::move(trace));
  }
  return result;
}

void write_config(json_writer& json, configuration const& config, simulate_configuration const& chosen) {
  json.object("config", [&] {
    write_members(json, config);
    json.member("recompute", chosen.step.recompute ? "full" : "none");
    json.array("systems", [&] {
      for (std::string_view const system : chosen.systems) json.element(system);
    });
  });
}

std::string tables(prepared_plan const& plan, simulate_configuration const& chosen, simulate_report const& report) {
  layout const& l = plan.config.layout;
  text_table table("<>>>>>>>><");
  table.line(fmt::format("{} on {} x {} ranks of {}, {}: seconds of a global batch of {}", plan.config.model.name, l.dp,
                         l.cp, plan.config.machine.name, counted(plan.batch.placement.global_batches(), "global batch"),
                         counted(l.micro_steps, "micro-step")));
  table.line("");
  table.row({"system", "step", "attention", "over bound", "exposed", "bubble", "worst step", "bytes", "speed-up",
             "best setting"});
  for (simulated_system const& s : report.systems) {
    sim::step_timing const& t = s.timing;
    auto const speedup = report.speedup_over_ulysses(s);
    table.row({s.system, as_seconds(t.step_seconds), as_seconds(t.attention_seconds),
               fmt::format("{:.3f}", report.attention_over_bound(s)), as_seconds(t.exposed_exchange_seconds),
               as_seconds(t.bubble_seconds), as_seconds(t.worst_step_attention_seconds), as_bytes(t.max_bytes_per_rank),
               speedup ? fmt::format("{:.2f}", *speedup) : "", s.setting});
  }
  table.row({"bound", as_seconds(report.bound.step_seconds), as_seconds(report.bound.attention_seconds)});
  table.line("").line(fmt::format(
      "Linear work is {} of each step. bytes: one rank and layer, forward and backward. Synchronised per {}.",
      as_seconds(report.bound.step_seconds - report.bound.attention_seconds),
      chosen.step.sync == synchronisation::layer ? "layer" : "batch"));
  return table.text();
}

simulate_configuration choose(simulating_options const& typed, configuration const& config) {
  using names = std::vector<std::string_view>;
  simulate_configuration chosen;
  std::vector<std::string_view> const all = system_names();
  if (typed.systems) {
    for (std::size_t const s : parse_choices("--systems", *typed.systems, all)) {
      chosen.systems.push_back(all[s]);
    }
  } else {
    chosen.systems = all;
  }
  chosen.step = {.layers = config.model.layers,
                 .active_parameters = config.model.active_parameters,
                 .tensor_parallel = config.tp,
                 .stages = config.goal.stages,
                 .sync = config.goal.sync,
                 .recompute = parse_choice("--recompute", typed.recompute, names{"none", "full"}) == 1};
  return chosen;
}

}  // namespace

outcome simulate_command::run() const {
  configuration config = resolve(planning);
  simulate_configuration const chosen = choose(simulating, config);
  prepared_plan const plan = prepare(input, std::move(config));
  simulated const result = simulate(plan, chosen, !simulating.trace.empty());
  if (!simulating.trace.empty()) {
    write_file(simulating.trace, trace_json(result.traces));
  }
  deliver(
      output,
      [&] {
        return document("simulate", [&](json_writer& json) {
          write_config(json, plan.config, chosen);
          write_members(json, result.report);
        });
      },
      [&] { return tables(plan, chosen, result.report); });
  return outcome::done;
}

}  // namespace libra::tools
