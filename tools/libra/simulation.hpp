#pragma once

#include "configuration.hpp"
#include "documents.hpp"
#include "planner.hpp"
#include "systems.hpp"

#include <libra/io/trace_json.hpp>
#include <libra/model/home.hpp>
#include <libra/model/packing.hpp>
#include <libra/plan/plan.hpp>
#include <libra/plan/workspace_error.hpp>
#include <libra/sim/engine.hpp>
#include <libra/sim/layer_time.hpp>
#include <libra/sim/training_step.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace libra::tools {

/// A setting of a system, planned, with every pool of every micro-step timed. Planning and timing happen on
/// construction.
class simulation {
 public:
  /// Errors: those of planning, and `input_error` from the engine; `workspace_error` with the least that all pools
  /// need.
  simulation(documents const& docs, packing packed, system_setting const& setting);

  [[nodiscard]] sim::step_timing step(sim::step_options const& options) const;
  [[nodiscard]] sim::step_bound bound(sim::step_options const& options) const;
  [[nodiscard]] batch_plan const& batch() const noexcept { return batch_; }

  /// The slowest pool of all micro-steps, forward and backward, op by op.
  [[nodiscard]] trace_process trace(std::string_view system);

 private:
  configuration config_;
  planner plan_;
  batch_plan batch_;
  sim::engine clock_;
  std::vector<sim::layer_time> times_;
};

/// A setting's simulation, or nothing where it does not fit into `--max-workspace`; `least` then is the error of the
/// setting that needs least of those that were tried.
[[nodiscard]] std::optional<simulation> simulate_within_limit(documents const& docs, packing packed,
                                                              system_setting const& setting,
                                                              std::optional<workspace_error>& least);

/// The packed sequences of a list for one kind of home: packs are arranged for contiguous ones.
[[nodiscard]] packing pack_for(documents const& docs, configuration config, sharding home);

/// A training step of the configuration's model, with or without recomputing activations.
[[nodiscard]] sim::step_options step_options_of(configuration const& config, bool recompute);

}  // namespace libra::tools
