#pragma once

#include <libra/cuda/error.hpp>

#include <cuda_runtime_api.h>

#include <memory>
#include <type_traits>

namespace libra::cuda {

/// Makes a device the calling thread's own until the end of the scope.
class device_scope {
 public:
  /// Errors: `cuda::error` when there is no such device.
  explicit device_scope(int device) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    check(cudaSetDevice(device), "cudaSetDevice");
  }
  ~device_scope() { static_cast<void>(cudaSetDevice(before_)); }
  device_scope(device_scope const&) = delete;
  device_scope& operator=(device_scope const&) = delete;

 private:
  int before_{};
};

/// Devices that this process can use; 0 where there is no driver either.
[[nodiscard]] inline int device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return count;
}

/// A mark in a stream: what comes after it can wait for what came before.
class event {
 public:
  /// Of the calling thread's device. Timing costs a little and is off unless asked for.
  explicit event(bool timed = false) {
    cudaEvent_t made{};
    check(cudaEventCreateWithFlags(&made, timed ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
    handle_.reset(made);
  }

  [[nodiscard]] cudaEvent_t get() const noexcept { return handle_.get(); }
  /// True when all that came before the last `record` has run; also when there was none.
  [[nodiscard]] bool reached() const {
    cudaError_t const status = cudaEventQuery(get());
    if (status == cudaErrorNotReady) {
      return false;
    }
    check(status, "cudaEventQuery");
    return true;
  }
  void synchronize() const { check(cudaEventSynchronize(get()), "cudaEventSynchronize"); }
  /// Pre: both are timed and reached.
  [[nodiscard]] double seconds_since(event const& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.get(), get()), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  struct release {
    void operator()(cudaEvent_t e) const noexcept { static_cast<void>(cudaEventDestroy(e)); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, release> handle_;
};

/// A stream that somebody else owns.
class stream_ref {
 public:
  stream_ref(cudaStream_t handle) noexcept : handle_(handle) {}

  [[nodiscard]] cudaStream_t get() const noexcept { return handle_; }
  void record(event const& mark) const { check(cudaEventRecord(mark.get(), handle_), "cudaEventRecord"); }
  /// What is enqueued from now on waits for what came before the mark's last record.
  void wait(event const& mark) const { check(cudaStreamWaitEvent(handle_, mark.get(), 0), "cudaStreamWaitEvent"); }
  void synchronize() const { check(cudaStreamSynchronize(handle_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t handle_;
};

/// A queue of work of the calling thread's device. Destroying it does not wait for the work.
class stream {
 public:
  stream() {
    cudaStream_t made{};
    check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    handle_.reset(made);
  }

  [[nodiscard]] stream_ref ref() const noexcept { return handle_.get(); }
  operator stream_ref() const noexcept { return ref(); }

 private:
  struct release {
    void operator()(cudaStream_t s) const noexcept { static_cast<void>(cudaStreamDestroy(s)); }
  };
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, release> handle_;
};

}  // namespace libra::cuda
