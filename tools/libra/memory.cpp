#include "memory.hpp"

#include <libra/model/pool_batch.hpp>
#include <libra/model/shape.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

namespace libra::tools {
namespace {

/// Values of one token in all tensors with query heads and with key/value heads.
std::int64_t query_values(attention_shape const& s) { return std::int64_t{s.q_heads} * s.head_dim; }
std::int64_t key_values(attention_shape const& s) { return std::int64_t{s.kv_heads} * s.head_dim; }

/// A number that stands alone in a file, as the kernel's control files have it.
std::optional<std::int64_t> number_in(char const* path) {
  std::ifstream file(path);
  std::int64_t value{};
  return file >> value ? std::optional(value) : std::nullopt;
}

}  // namespace

std::int64_t execution_bytes(std::span<step_plans const> systems) {
  constexpr std::int64_t fp32 = sizeof(float);
  constexpr std::int64_t fp64 = sizeof(double);
  std::int64_t total = 0;
  std::int64_t longest = 0;
  for (auto const& plan : systems.front()) {
    pool_batch const& batch = plan->batch;
    attention_shape const& shape = batch.shape;
    std::int64_t const tokens = batch.slots * batch.home.window_tokens;
    std::int64_t const pairs = 2 * (query_values(shape) + key_values(shape));  // q, d_o, k, v; and o, dq, dk, dv
    auto const outputs = static_cast<std::int64_t>(systems.size()) * (pairs + shape.q_heads);
    total += tokens * fp32 * (pairs + outputs + shape.q_heads);
    for (placed_segment const& s : batch.segments) longest = std::max(longest, s.what.length);
  }
  std::int64_t workspace = 0;
  for (step_plans const& system : systems) {
    std::int64_t sum = 0;
    for (auto const& plan : system) {
      for (std::size_t r = 0; r < plan->forward.ranks.size(); ++r) {
        sum += std::max(plan->forward.ranks[r].workspace_bytes, plan->backward.ranks[r].workspace_bytes);
      }
    }
    workspace = std::max(workspace, sum);
  }
  // Each thread of the check holds a key/value head of a segment: operands, results, and the reference's.
  attention_shape const& shape = systems.front().front()->batch.shape;
  std::int64_t const values = 2 * std::int64_t{shape.group() + 1} * shape.head_dim;
  std::int64_t const check = static_cast<std::int64_t>(std::max(1U, std::thread::hardware_concurrency())) * longest *
                             values * (2 * fp32 + 2 * fp64);
  return total + std::max(workspace, check);
}

std::optional<std::int64_t> available_memory() {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::int64_t kilobytes{};
  std::string unit;
  while (file >> key >> kilobytes >> unit) {
    if (key == "MemAvailable:") least = kilobytes * 1024;
  }
  auto const limit = number_in("/sys/fs/cgroup/memory.max");
  auto const used = number_in("/sys/fs/cgroup/memory.current");
  if (limit && used) least = std::min(least, *limit - *used);
  return least == std::numeric_limits<std::int64_t>::max() ? std::nullopt : std::optional(least);
}

}  // namespace libra::tools
