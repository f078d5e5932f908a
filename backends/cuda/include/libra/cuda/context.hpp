#pragma once

#include <libra/cuda/error.hpp>
#include <libra/cuda/stream.hpp>
#include <libra/program/ops.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace libra::cuda {

/// A rank's device and its streams, one per queue of a program.
///
/// Calls begin and end in order on the compute stream, which may be the trainer's own.
class context {
 public:
  /// Errors: `cuda::error` when there is no such device.
  explicit context(int device = 0) : context(device, std::nullopt) {}
  /// Computes on a stream that the trainer owns and that outlives the context.
  context(int device, stream_ref compute) : context(device, std::optional(compute)) {}

  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] stream_ref on(queue q) const noexcept {
    return q == queue::compute && compute_ ? *compute_ : streams_[static_cast<std::size_t>(q)].ref();
  }
  [[nodiscard]] stream_ref compute() const noexcept { return on(queue::compute); }

  /// The exchange memory of the plan that the rank works on from now on; for messages.
  void expect_plan(std::int64_t bytes) noexcept { plan_bytes_ = bytes; }
  /// What `make` returns. Errors: `out_of_memory`, with what the plan needs if there is one.
  template <class Make>
  auto allocating(Make make) const {
    try {
      return make();
    } catch (out_of_memory const& e) {
      if (plan_bytes_) {
        throw e.of_plan(*plan_bytes_);
      }
      throw;
    }
  }

 private:
  context(int device, std::optional<stream_ref> compute) : device_(use(device)), compute_(compute) {}

  /// The rank's thread works with this device from now on.
  [[nodiscard]] static int use(int device) {
    check(cudaSetDevice(device), "cudaSetDevice");
    return device;
  }

  int device_;
  std::optional<stream_ref> compute_;
  std::array<stream, queue_count> streams_;
  std::optional<std::int64_t> plan_bytes_;
};

}  // namespace libra::cuda
