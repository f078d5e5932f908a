#pragma once

#include "device.hpp"

#include <libra/core/error.hpp>
#include <libra/cuda/error.hpp>
#include <libra/cuda/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

#ifndef __CUDACC__
#include "cuda_double/launch.hpp"
#endif

namespace libra::cuda {

struct launch_extent {
  std::int64_t blocks{};
  unsigned threads{};
  std::size_t shared_bytes{};
};

/// Enqueues a kernel. Errors: `cuda::error` when it cannot be launched.
template <class... Parameter, class... Argument>
void launch(stream_ref in, launch_extent const& extent, void (*kernel)(Parameter...), Argument const&... arguments) {
  require(extent.blocks <= std::numeric_limits<std::int32_t>::max(), "a launch has ", extent.blocks,
          " blocks, expected at most 2147483647");
  auto const blocks = static_cast<unsigned>(extent.blocks);
#ifdef __CUDACC__
  constexpr std::size_t granted_to_all = 48 << 10;
  if (extent.shared_bytes > granted_to_all) {
    check(cudaFuncSetAttribute(reinterpret_cast<void const*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(extent.shared_bytes)),
          "cudaFuncSetAttribute");
  }
  kernel<<<blocks, extent.threads, extent.shared_bytes, in.get()>>>(arguments...);
  check(cudaGetLastError(), "a kernel launch");
#else
  check(cuda_double::enqueue_kernel(in.get(), {blocks}, {extent.threads}, extent.shared_bytes,
                                    [=] { kernel(static_cast<Parameter>(arguments)...); }),
        "a kernel launch");
#endif
}

}  // namespace libra::cuda
