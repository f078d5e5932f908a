#pragma once

#include <libra/host/attention_run.hpp>

#include <string>

namespace libra::tools {

/// True when the command was built with libra::cuda.
[[nodiscard]] bool has_cuda() noexcept;
/// Errors: `input_error` when this machine has no device that CUDA can use.
void require_cuda_device();

/// As `host::run_attention`, on the first CUDA device: every rank is a thread with streams of its own, and one pool
/// runs after another, each by itself. The slowest pool's times count. Times of ops are the device's.
[[nodiscard]] host::attention_run run_on_cuda(host::pool_plans pools, host::attention_run_options const& options);

}  // namespace libra::tools
