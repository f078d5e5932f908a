#include "commands.hpp"
#include "output.hpp"
#include "prepare.hpp"
#include "simulation.hpp"
#include "systems.hpp"
#include "text.hpp"
#include "values.hpp"
#include "workspace_limit.hpp"

#include <libra/core/error.hpp>
#include <libra/io/advise_report.hpp>
#include <libra/plan/prediction.hpp>
#include <libra/sim/training_step.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace libra::tools {
namespace {

/// Powers of two up to all slots, all slots, and the pool that was asked for.
std::vector<std::int32_t> pool_sizes(layout const& l) {
  std::vector<std::int32_t> sizes{l.dp, l.pool};
  for (std::int64_t p = 1; p < l.dp; p *= 2) {
    sizes.push_back(static_cast<std::int32_t>(p));
  }
  std::ranges::sort(sizes);
  auto const repeated = std::ranges::unique(sizes);
  sizes.erase(repeated.begin(), repeated.end());
  return sizes;
}

/// One pool size at the fastest of its settings. Errors: `workspace_error` where none fits into the workspace.
advised_pool try_pool(prepared_plan const& prepared, std::int32_t pool, sim::step_options const& step) {
  configuration config = prepared.config;
  config.layout.pool = pool;
  advised_pool best{.pool = pool};
  simulation const run = fastest_of(prepared.docs, config, settings_of("pooled", config), step);
  sim::step_timing const timing = run.step();
  best.step_seconds = timing.step_seconds;
  best.attention_over_bound = timing.attention_seconds / run.bound().attention_seconds;
  best.placed_over_mean = run.batch().certificate.placed_over_mean();
  std::vector<int128> work;
  for (sequence_id const s : prepared.batch.placement.at) {
    work.push_back(prepared.batch.work[s.index()].total());
  }
  best.predicted_skew = predicted_skew(work, pool, config.layout.dp);
  return best;
}

std::string tables(prepared_plan const& plan, advise_report const& report) {
  layout const& l = plan.config.layout;
  text_table table(">>>>>>");
  table.line(fmt::format("{} on {} x {} ranks of {}, {}: pools of 1 to {} slots", plan.config.model.name, l.dp, l.cp,
                         plan.config.machine.name, counted(plan.batch.placement.steps(), "micro-step"), l.dp));
  table.line("");
  table.row({"slots a pool", "ranks", "predicted skew", "placed", "attention over bound", "step"});
  for (advised_pool const& p : report.pools) {
    table.row({with_commas(p.pool), with_commas(int128{p.pool} * l.cp), as_skew(p.predicted_skew),
               as_skew(p.placed_over_mean), fmt::format("{:.3f}", p.attention_over_bound), as_seconds(p.step_seconds)});
  }
  advised_pool const& best = report.recommended();
  table.line("").line(fmt::format("Recommended: --pool {}, the smallest within 1 % of the fastest step.", best.pool));
  table.line(
      "Predicted: pools formed at random, by the law of large numbers. Placed: largest over mean pool, per step.");
  if (plan.config.planning.max_workspace_bytes > 0) {
    table.line("Sizes whose exchange does not fit into --max-workspace are left out.");
  }
  return table.text();
}

}  // namespace

outcome advise_command::run() const {
  using names = std::vector<std::string_view>;
  configuration config = resolve(planning);
  bool const recompute = parse_choice("--recompute", advising.recompute, names{"none", "full"}) == 1;
  sim::step_options const step = step_options_of(config, recompute);
  prepared_plan const plan = prepare(input, std::move(config));
  advise_report report;
  std::optional<workspace_error> least;
  for (std::int32_t const pool : pool_sizes(plan.config.layout)) {
    try {
      report.pools.push_back(try_pool(plan, pool, step));
    } catch (workspace_error const& e) {
      keep_smaller_need(least, e);
    }
  }
  if (report.pools.empty()) {
    throw workspace_error(message(least->what(), "; no size of pools needs less"), least->least_bytes());
  }
  deliver(
      output,
      [&] {
        return document("advise", [&](json_writer& json) {
          json.object("config", [&] {
            write_members(json, plan.config);
            json.member("recompute", recompute ? "full" : "none");
          });
          write_members(json, report);
        });
      },
      [&] { return tables(plan, report); });
  return outcome::done;
}

}  // namespace libra::tools
