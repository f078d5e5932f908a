#include "commands.hpp"
#include "cuda_run.hpp"
#include "memory.hpp"
#include "mpi_job.hpp"
#include "output.hpp"
#include "prepare.hpp"
#include "progress.hpp"
#include "registry.hpp"
#include "text.hpp"
#include "values.hpp"
#include "workspace_limit.hpp"

#include <libra/core/checked.hpp>
#include <libra/core/error.hpp>
#include <libra/core/ids.hpp>
#include <libra/host/attention_run.hpp>
#include <libra/host/instruction_set.hpp>
#include <libra/host/kernel.hpp>
#include <libra/io/file.hpp>
#include <libra/io/run_report.hpp>
#include <libra/io/trace_json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace libra::tools {
namespace {

/// What `run` adds to the configuration of planning.
struct run_configuration {
  std::int64_t shrink{1};
  std::vector<std::string_view> systems;
  std::int32_t micro_step{};
  std::string_view backend;
  bool processes{};  ///< one per rank
  host::attention_run_options options;
  bool traced{};
};

/// The micro-step with the most work, or the one that was asked for.
std::int32_t resolve_micro_step(running_options const& typed, batch_plan const& batch) {
  std::int32_t const steps = batch.placement.steps();
  if (typed.micro_step) {
    return static_cast<std::int32_t>(parse_integer("--micro-step", *typed.micro_step, {.least = 0, .most = steps - 1}));
  }
  auto const work = [&](std::int32_t m) {
    int128 sum = 0;
    for (sequence_id const s : batch.placement.step(micro_step_id(m))) {
      sum = checked_add(sum, batch.work[s.index()].total());
    }
    return sum;
  };
  std::int32_t heaviest = 0;
  for (std::int32_t m = 1; m < steps; ++m) {
    if (work(m) > work(heaviest)) heaviest = m;
  }
  return heaviest;
}

/// The micro-step's pools, dispatched and lowered for one system. Errors: `workspace_error` with what they all need.
step_plans plan_step(prepared_plan const& plan, std::string_view system, std::int32_t micro_step) {
  planner const planner = make_planner(plan.config, system);
  batch_plan batch = plan.batch;
  workspace_limit limit;
  step_plans plans;
  for (std::int32_t g = 0; g < batch.pools.size(); ++g) {
    plans.push_back(
        std::make_shared<pool_plan const>(limit.plan(batch, planner.plan_pool, micro_step_id(micro_step), pool_id(g))));
  }
  limit.require_kept();
  return plans;
}

void require_memory(prepared_plan const& plan, std::vector<step_plans> const& systems, std::int32_t micro_step) {
  std::int64_t const needed = execution_bytes(systems);
  auto const available = available_memory();
  require(!available || needed <= *available, "executing micro-step ", micro_step, " on ", plan.batch.layout.ranks(),
          " ranks needs ", as_bytes(needed), " of memory, ", available ? as_bytes(*available) : "", " are available; ",
          "expected a larger --shrink, or fewer ranks");
}

/// A run's ops as lanes of a trace: one process per pool, one lane per queue of each rank.
void add_trace(std::vector<trace_process>& traces, std::string_view system, host::pool_plans pools,
               host::attention_run const& run) {
  constexpr double ps_per_second = 1e12;
  std::size_t rank = 0;
  for (std::size_t p = 0; p < pools.size(); ++p) {
    trace_process process{.name = fmt::format("{} pool {}", system, p), .events = {}};
    for (std::int32_t r = 0; r < pools[p]->batch.ranks(); ++r, ++rank) {
      for (op_time const& o : run.ops[rank]) {
        process.events.push_back(
            {.what = name_of(o.kind),
             .rank = r,
             .lane = o.on,
             .begin_ps = static_cast<std::int64_t>(o.start_seconds * ps_per_second),
             .duration_ps = static_cast<std::int64_t>((o.end_seconds - o.start_seconds) * ps_per_second)});
      }
    }
    traces.push_back(std::move(process));
  }
}

struct executed {
  run_report report;
  std::vector<trace_process> traces;
};

/// Executes the systems one after another and checks them together; in a job only the first process has results.
std::optional<executed> execute(std::vector<step_plans> const& plans, run_configuration const& run,
                                std::optional<mpi_job> const& job) {
  executed done{.report = {.micro_step = run.micro_step, .systems = {}}, .traces = {}};
  std::vector<host::attention_run> results;
  progress bar("executing and checking", static_cast<std::int64_t>(plans.size()) + 1);
  for (step_plans const& plan : plans) {
    results.push_back(job                     ? job->run(plan, run.options, run.backend == "cuda")
                      : run.backend == "cuda" ? run_on_cuda(plan, run.options)
                                              : host::run_attention(plan, run.options));
    bar.advance();
  }
  if (!speaks_for_the_job()) {
    return std::nullopt;
  }
  std::vector<host::tensor_errors> const errors = host::check_attention(plans.front(), results, run.options);
  for (std::size_t s = 0; s < results.size(); ++s) {
    host::attention_run& result = results[s];
    host::tensor_errors const& e = errors[s];
    if (run.traced) add_trace(done.traces, run.systems[s], plans[s], result);
    done.report.systems.push_back({.system = std::string(run.systems[s]),
                                   .forward_seconds = result.forward_seconds,
                                   .backward_seconds = result.backward_seconds,
                                   .busy_seconds = std::move(result.busy_seconds),
                                   .bytes_sent = result.bytes_sent,
                                   .overlap = result.overlap,
                                   .max_error = {e.o, e.lse, e.dq, e.dk, e.dv}});
  }
  return done;
}

void write_config(json_writer& json, configuration const& config, run_configuration const& run) {
  json.object("config", [&] {
    write_members(json, config);
    json.member("backend", run.backend);
    json.member("shrink", run.shrink);
    json.member("micro_step", run.micro_step);
    json.array("compare", [&] {
      for (std::string_view const system : run.systems) {
        json.element(system);
      }
    });
  });
}

std::string tables(prepared_plan const& plan, run_configuration const& run, run_report const& report) {
  layout const& l = plan.batch.layout;
  int128 tokens = 0;
  for (sequence_id const s : plan.batch.placement.step(micro_step_id(report.micro_step))) {
    for (segment const& part : plan.batch.packing.sequences[s.index()]) tokens += part.length;
  }
  text_table table("<>>>>>>>>>");
  table.line(fmt::format("Micro-step {} of {}: {} in {}, {} as {} ({})", report.micro_step,
                         plan.batch.placement.steps(), counted(tokens, "token"), counted(l.dp, "sequence"),
                         counted(l.ranks(), "rank"), run.processes ? "processes" : "threads",
                         run.backend != "cuda" ? host::instruction_set()
                         : run.processes       ? "a CUDA device each"
                                               : "on one CUDA device"));
  table.line("");
  table.row(
      {"system", "forward", "backward", "both", "skew", "sent", "overlap", "error o, lse", "dq, dk, dv", "check"});
  for (system_report const& s : report.systems) {
    attention_errors const& e = s.max_error;
    table.row({s.system, as_seconds(s.forward_seconds), as_seconds(s.backward_seconds), as_seconds(s.seconds()),
               as_skew(s.skew()), as_bytes(static_cast<std::int64_t>(s.bytes_sent)), as_percent(s.overlap),
               fmt::format("{:.1e}", std::max(e.o, e.lse)), fmt::format("{:.1e}", std::max({e.dq, e.dk, e.dv})),
               e.small() ? "passed" : "FAILED"});
  }
  if (auto const speedup = report.speedup_over_ulysses(); speedup && report.systems.size() > 1) {
    table.line("").line(fmt::format("{} takes {} of the time of ulysses: {:.2f} x as fast.",
                                    report.systems.back().system, as_percent(1 / *speedup), *speedup));
  }
  return table.text();
}

}  // namespace

outcome run_command::run() const {
  std::vector<std::string_view> const backends{"host", "mpi", "cuda"};
  std::vector<std::string_view> const dispatchers = policy_names(seam::dispatcher);
  constexpr std::int64_t most_seconds = 1'000'000;
  run_configuration chosen;
  chosen.backend = backends[parse_choice("--backend", running.backend, backends)];
  require(chosen.backend != "mpi" || has_mpi(), "--backend is mpi, which this libra was built without, expected host");
  // Ranks of several devices are processes; those of one device are threads of this one.
  bool const several_devices = chosen.backend == "cuda" && has_mpi() && (in_mpi_job() || cuda_devices() > 1);
  if (chosen.backend == "cuda") {
    require_cuda_device();
  }
  chosen.shrink = parse_integer("--shrink", running.shrink, {.least = 1});
  chosen.options.timeout =
      std::chrono::seconds(parse_integer("--timeout", running.timeout, {.least = 1, .most = most_seconds}));
  chosen.traced = !running.trace.empty();
  for (std::size_t const d : parse_choices("--compare", running.compare, dispatchers)) {
    chosen.systems.push_back(dispatchers[d]);
  }

  configuration config = resolve(planning, chosen.shrink);
  config.planning.width = host::kernel::width;
  if ((chosen.backend == "mpi" || several_devices) && std::ranges::find(input.lengths, "-") != input.lengths.end()) {
    require(!in_mpi_job(), "LENGTHS is -, expected a file: mpirun passes standard input to one process only");
    keep_standard_input();
  }
  prepared_plan const plan = prepare(input, std::move(config), chosen.shrink);
  chosen.micro_step = resolve_micro_step(running, plan.batch);

  std::vector<step_plans> plans;
  std::optional<workspace_error> refused;
  for (std::string_view const system : chosen.systems) {
    try {
      plans.push_back(plan_step(plan, system, chosen.micro_step));
    } catch (workspace_error const& e) {
      keep_larger_need(refused, e, system);
    }
  }
  if (refused) {
    throw *refused;
  }
  require_memory(plan, plans, chosen.micro_step);
  auto const ranks = static_cast<std::int32_t>(plan.batch.layout.ranks());
  chosen.processes = chosen.backend == "mpi" || (several_devices && (in_mpi_job() || ranks <= cuda_devices()));
  if (chosen.processes && !in_mpi_job()) {
    return relaunch(typed, ranks);
  }

  std::optional<mpi_job> job;
  if (chosen.processes) {
    job.emplace(typed, ranks);
    job->agree(plan.batch.fingerprint, chosen.options);
  }
  std::optional<executed> const done = execute(plans, chosen, job);
  if (!done) {
    return outcome::done;
  }
  if (chosen.traced) {
    write_file(running.trace, trace_json(done->traces));
  }
  deliver(
      output,
      [&] {
        return document("run", [&](json_writer& json) {
          write_config(json, plan.config, chosen);
          write_members(json, done->report);
        });
      },
      [&] { return tables(plan, chosen, done->report); });
  return done->report.passed() ? outcome::done : outcome::check_failed;
}

}  // namespace libra::tools
