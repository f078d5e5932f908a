#pragma once

#include "simt/block.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace cuda_double {

/// Enqueues a kernel that runs on the emulator when its turn has come.
[[nodiscard]] cudaError_t enqueue_kernel(cudaStream_t stream, simt::extent3 grid, simt::extent3 block,
                                         std::size_t shared_bytes, std::function<void()> kernel);

}  // namespace cuda_double
