#pragma once

#include <libra/host/attention_run.hpp>
#include <libra/host/measured_rank.hpp>
#include <libra/plan/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace libra::tools {

/// True when the command was built with libra::cuda.
[[nodiscard]] bool has_cuda() noexcept;
/// Devices that CUDA can use on this machine; 0 without libra::cuda.
[[nodiscard]] std::int32_t cuda_devices() noexcept;
/// Errors: `input_error` when this machine has no device that CUDA can use.
void require_cuda_device();

/// As `host::run_attention`, on the first CUDA device: every rank is a thread with streams of its own, and one pool
/// runs after another, each by itself. The slowest pool's times count. Times of ops are the device's.
[[nodiscard]] host::attention_run run_on_cuda(host::pool_plans pools, host::attention_run_options const& options);

/// A process that computes as one rank of a pool on a device of its own.
struct cuda_process {
  std::int32_t rank{};   ///< of the pool's
  std::int32_t ranks{};  ///< in the pool
  /// The process's number among those of this machine, and how many there are.
  std::int32_t here{};
  std::int32_t processes_here{};
  /// Gives all processes of the pool the bytes of its first.
  std::function<void(std::span<std::byte>)> share;
  /// Waits for all processes of the run.
  std::function<void()> meet;
};

/// Runs this process's rank of a plan, joined with the pool's others by NCCL.
///
/// Errors: `input_error` when this machine has fewer devices than processes; `run_error` when the pool fails.
[[nodiscard]] host::measured_rank run_on_own_device(std::shared_ptr<pool_plan const> const& plan,
                                                    cuda_process const& process,
                                                    host::attention_run_options const& options);

}  // namespace libra::tools
