#include "commands.hpp"
#include "output.hpp"
#include "prepare.hpp"
#include "simulation.hpp"
#include "systems.hpp"
#include "text.hpp"
#include "values.hpp"
#include "workspace_limit.hpp"

#include <libra/core/error.hpp>
#include <libra/io/simulate_report.hpp>
#include <libra/io/trace_json.hpp>
#include <libra/sim/training_step.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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

struct simulated {
  simulate_report report;
  std::vector<trace_process> traces;
};

simulated simulate(prepared_plan const& prepared, simulate_configuration const& chosen, bool traced) {
  simulated result;
  std::optional<workspace_error> refused;
  for (std::string_view const system : chosen.systems) {
    try {
      simulation run = fastest_of(prepared.docs, prepared.config, settings_of(system, prepared.config), chosen.step);
      result.report.systems.push_back(
          {.system = std::string(system), .setting = std::string(run.setting()), .timing = run.step()});
      result.report.bound = run.bound();
      if (traced) result.traces.push_back(run.trace(system));
    } catch (workspace_error const& e) {
      keep_larger_need(refused, e, system);
    }
  }
  if (refused) {
    throw *refused;
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
  chosen.step = step_options_of(config, parse_choice("--recompute", typed.recompute, names{"none", "full"}) == 1);
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
