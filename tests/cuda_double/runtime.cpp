// The functions of the CUDA runtime that backends/cuda calls, on a machine without a GPU: with the same names, so that
// the code that is tested is the code that is shipped.
#include "cuda_double/launch.hpp"
#include "cuda_double/machine.hpp"

#include <libra/core/error.hpp>

#include <cstring>
#include <exception>
#include <utility>
#include <vector>

using cuda_double::machine;

namespace {

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t failed(cudaError_t status) {
  if (status != cudaSuccess) {
    last_error = status;
  }
  return status;
}

/// Calls `body(machine, lock)` and returns its status, or that of work which went wrong earlier.
template <class Body>
cudaError_t guarded(Body body) {
  auto& m = machine::instance();
  auto held = m.hold();
  if (m.status() != cudaSuccess) {
    return failed(m.status());
  }
  cudaError_t const status = body(m, held);
  return failed(status == cudaSuccess ? m.status() : status);
}

[[nodiscard]] bool on_device(machine const& m, void const* p, std::size_t bytes) { return m.owns(p, bytes); }

void copy_now(machine& m, void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch, std::size_t width,
              std::size_t height, bool to_device, bool from_device) {
  for (std::size_t r = 0; r < height; ++r) {
    auto* const target = static_cast<std::byte*>(to) + r * to_pitch;
    auto const* const source = static_cast<std::byte const*>(from) + r * from_pitch;
    if ((to_device && !on_device(m, target, width)) || (from_device && !on_device(m, source, width))) {
      m.find("a copy reads or writes beyond device memory", cudaErrorIllegalAddress);
      return;
    }
    std::memcpy(target, source, width);
  }
}

}  // namespace

cudaError_t cuda_double::enqueue_kernel(cudaStream_t stream, simt::extent3 grid, simt::extent3 block,
                                        std::size_t shared_bytes, std::function<void()> kernel) {
  return guarded([&](machine& m, auto&) {
    ++m.kernels_launched;
    m.enqueue(stream, {nullptr, [&m, grid, block, shared_bytes, kernel = std::move(kernel)] {
                         try {
                           simt::launch({grid, block, shared_bytes, m.draw(~std::uint64_t{0})}, kernel);
                         } catch (std::exception const& e) {
                           m.find(e.what(), cudaErrorLaunchFailure);
                         }
                       }});
    return cudaSuccess;
  });
}

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return guarded([&](machine& m, auto&) {
    *count = m.now.devices;
    return m.now.devices > 0 ? cudaSuccess : cudaErrorNoDevice;
  });
}
cudaError_t cudaSetDevice(int device) {
  return guarded([&](machine& m, auto&) {
    if (device < 0 || device >= m.now.devices) {
      return cudaErrorInvalidDevice;
    }
    current_device = device;
    return cudaSuccess;
  });
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  return guarded([&](machine& m, auto&) {
    *can = m.now.peer_access ? 1 : 0;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
char const* cudaGetErrorName(cudaError_t status) {
  switch (status) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    default:
      return "an error that the double does not name";
  }
}
char const* cudaGetErrorString(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    default: {
      static thread_local std::string text;
      text = cuda_double::finding();
      return text.c_str();
    }
  }
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return guarded([&](machine& m, auto&) {
    *stream = m.make_stream(current_device);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  auto& m = machine::instance();
  auto const held = m.hold();
  m.destroy(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return guarded([&](machine& m, auto& held) {
    m.run_until(held, [&] { return stream->tasks.empty() || m.status() != cudaSuccess; });
    return cudaSuccess;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return guarded([&](machine& m, auto&) {
    if (event->last) {
      m.enqueue(stream, {[mark = event->last] { return mark->reached; }, nullptr});
    }
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return guarded([&](machine& m, auto&) {
    *event = new CUevent_st{};
    m.events.insert(*event);
    return cudaSuccess;
  });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  auto& m = machine::instance();
  auto const held = m.hold();
  m.events.erase(event);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return guarded([&](machine& m, auto&) {
    event->last = std::make_shared<cuda_double::mark>();
    m.enqueue(stream, {nullptr, [mark = event->last] { mark->reached = true; }});
    return cudaSuccess;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  auto& m = machine::instance();
  auto const held = m.hold();
  if (m.status() != cudaSuccess) {
    return failed(m.status());
  }
  // Who asks in a loop must get an answer in the end.
  m.step();
  return !event->last || event->last->reached ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return guarded([&](machine& m, auto& held) {
    auto const mark = event->last;
    m.run_until(held, [&] { return !mark || mark->reached || m.status() != cudaSuccess; });
    return cudaSuccess;
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1.0F;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** p, std::size_t bytes) {
  return guarded([&](machine& m, auto&) {
    *p = m.allocate(bytes, current_device);
    return *p != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}
cudaError_t cudaFree(void* p) {
  auto& m = machine::instance();
  auto held = m.hold();
  int const device = current_device;
  m.run_until(held, [&] { return m.idle(device) || m.status() != cudaSuccess; });
  m.release(p);
  return cudaSuccess;
}
cudaError_t cudaMallocAsync(void** p, std::size_t bytes, cudaStream_t stream) {
  return guarded([&](machine& m, auto&) {
    *p = m.allocate(bytes, stream->device);
    return *p != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
  });
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  auto& m = machine::instance();
  auto const held = m.hold();
  if (m.status() != cudaSuccess) {
    m.release(p);  // nothing runs any more
  } else {
    m.enqueue(stream, {nullptr, [&m, p] { m.release(p); }});
  }
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  auto& m = machine::instance();
  auto const held = m.hold();
  *free = m.free_bytes(current_device);
  *total = m.now.memory_bytes;
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return guarded([&](machine& m, auto&) {
    if (kind == cudaMemcpyHostToDevice) {
      // Pageable memory is read before the call returns.
      auto const* const first = static_cast<std::byte const*>(from);
      m.enqueue(stream, {nullptr, [&m, to, staged = std::vector<std::byte>(first, first + bytes)] {
                           copy_now(m, to, 0, staged.data(), 0, staged.size(), 1, true, false);
                         }});
    } else {
      m.enqueue(stream, {nullptr, [&m, to, from, bytes, kind] {
                           copy_now(m, to, 0, from, 0, bytes, 1, kind != cudaMemcpyDeviceToHost, true);
                         }});
    }
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
  return guarded([&](machine& m, auto&) {
    if (width > to_pitch || width > from_pitch) {
      return cudaErrorInvalidValue;
    }
    m.enqueue(stream, {nullptr, [=, &m] { copy_now(m, to, to_pitch, from, from_pitch, width, height, true, true); }});
    return cudaSuccess;
  });
}

}  // extern "C"
