#pragma once

#include "configuration.hpp"
#include "documents.hpp"
#include "planner.hpp"
#include "progress.hpp"
#include "systems.hpp"
#include "workspace_limit.hpp"

#include <libra/io/trace_json.hpp>
#include <libra/model/home.hpp>
#include <libra/model/packing.hpp>
#include <libra/plan/plan.hpp>
#include <libra/plan/workspace_error.hpp>
#include <libra/sim/engine.hpp>
#include <libra/sim/fastest.hpp>
#include <libra/sim/layer_time.hpp>
#include <libra/sim/training_step.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace libra::tools {

/// A setting of a system, planned on construction; its pools are timed bit by bit (`sim::contender`): of every
/// micro-step the pool with most work first, because it is what the others wait for.
class simulation {
 public:
  /// Errors: those of planning.
  simulation(documents const& docs, packing packed, system_setting const& setting, sim::step_options const& step);

  /// Seconds of a global batch that the step takes at least; its time once all pools are timed. Infinite once a pool
  /// does not fit into `--max-workspace`.
  [[nodiscard]] double least() const noexcept { return least_seconds_; }
  [[nodiscard]] bool done() const noexcept { return timed_ == order_.size(); }
  /// Times some more pools. Errors: those of planning a pool, and `input_error` from the engine. Pre: not done.
  void advance();
  /// Tells `bar`, if there is one, of every pool that is timed from now on. Pre: it outlives that.
  void report_to(progress* bar) noexcept { bar_ = bar; }

  /// Pre of all below: done.
  /// What all pools need, where that is more than `--max-workspace`. Figures below then count for nothing.
  [[nodiscard]] std::optional<workspace_error> const& exceeded() const noexcept { return limit_.exceeded(); }
  [[nodiscard]] sim::step_timing step() const;
  [[nodiscard]] sim::step_bound bound() const;
  [[nodiscard]] batch_plan const& batch() const noexcept { return batch_; }
  [[nodiscard]] std::string_view setting() const noexcept { return setting_; }

  /// The slowest pool of all micro-steps, forward and backward, op by op.
  [[nodiscard]] trace_process trace(std::string_view system);

 private:
  /// A pool, counted through all micro-steps.
  [[nodiscard]] micro_step_id step_of(std::size_t pool) const noexcept;
  [[nodiscard]] pool_id pool_of(std::size_t pool) const noexcept;

  std::string setting_;
  configuration config_;
  sim::step_options step_;
  planner plan_;
  batch_plan batch_;
  workspace_limit limit_;
  sim::engine clock_;
  /// Shape: `[micro-steps, pools]`. Of pools that are not timed yet, the least that they can take.
  std::vector<sim::layer_time> times_;
  /// Pools in the order in which they are timed, and how many are.
  std::vector<std::size_t> order_;
  std::size_t timed_{};
  double least_seconds_{};
  progress* bar_{};
};

/// The fastest of a system's settings that fit into `--max-workspace`. Pre: there is one. Errors: those of
/// `simulation`; `workspace_error` where none fits, of the one that needs least.
[[nodiscard]] simulation fastest_of(documents const& docs, configuration const& config,
                                    std::vector<system_setting> const& settings, sim::step_options const& step);

/// A training step of the configuration's model, with or without recomputing activations.
[[nodiscard]] sim::step_options step_options_of(configuration const& config, bool recompute);

}  // namespace libra::tools
