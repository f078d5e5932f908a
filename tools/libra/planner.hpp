#pragma once

#include "configuration.hpp"

#include <libra/core/ids.hpp>
#include <libra/plan/metrics.hpp>
#include <libra/plan/plan.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace libra::tools {

/// A scheduler whose policies were chosen at run time, step by step so that each can be timed.
struct planner {
  std::function<packing(std::span<std::int64_t const> lengths, layout const&, plan_options const&)> pack;
  std::function<batch_plan(std::span<std::int64_t const> lengths, packing, layout const&, plan_options const&)> place;
  std::function<pool_plan(batch_plan const&, micro_step_id, pool_id)> plan_pool;
  std::function<pool_plan(batch_plan const&, micro_step_id, pool_id)> draft_pool;
  std::function<pool_locality(pool_plan const&)> locality;
};

/// The planner of a configuration, with `dispatcher` in place of the configuration's.
[[nodiscard]] planner make_planner(configuration const& config, std::string_view dispatcher);

}  // namespace libra::tools
