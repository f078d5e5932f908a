#pragma once

#include <libra/plan/plan.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace libra::tools {

/// The plans of a micro-step's pools.
using step_plans = std::vector<std::shared_ptr<pool_plan const>>;

/// Bytes that executing a micro-step under several systems, and checking it, takes at once.
///
/// Pre: at least one system, all with the same pools.
[[nodiscard]] std::int64_t execution_bytes(std::span<step_plans const> systems);

/// Bytes that this process may still use, as far as the system says.
[[nodiscard]] std::optional<std::int64_t> available_memory();

}  // namespace libra::tools
