#pragma once

#include "configuration.hpp"
#include "documents.hpp"
#include "options.hpp"
#include "planner.hpp"

#include <libra/io/plan_json.hpp>
#include <libra/plan/plan.hpp>

#include <cstdint>

namespace libra::tools {

/// A list, packed and placed.
struct prepared_plan {
  /// With `layout.micro_steps` resolved.
  configuration config;
  documents docs;
  planner plan;
  batch_plan batch;
  /// Packing and placement.
  plan_seconds seconds;
};

/// Reads, packs and places. `shrink` divides lengths and window, rounding up.
///
/// Errors: `input_error` naming the option or the place in the list, for example when the list fills fewer sequences
/// than the layout needs.
[[nodiscard]] prepared_plan prepare(input_options const& input, configuration config, std::int64_t shrink = 1);

}  // namespace libra::tools
