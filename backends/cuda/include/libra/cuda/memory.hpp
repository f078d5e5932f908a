#pragma once

#include <libra/cuda/error.hpp>
#include <libra/cuda/stream.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace libra::cuda {

/// Elements in device memory, which the host can name, cut and hand on, but not read: it has no element access.
template <class T>
class device_span {
 public:
  constexpr device_span() = default;
  constexpr device_span(T* first, std::size_t size) noexcept : first_(first), size_(size) {}
  constexpr operator device_span<T const>() const noexcept
    requires(!std::is_const_v<T>)
  {
    return {first_, size_};
  }

  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  /// The address, for kernels and copies.
  [[nodiscard]] constexpr T* address() const noexcept { return first_; }
  /// Pre: the part lies inside.
  [[nodiscard]] constexpr device_span subspan(std::size_t offset, std::size_t count) const noexcept {
    return {first_ + offset, count};
  }
  /// For `pooled_attention`, which takes spans and only computes addresses.
  [[nodiscard]] constexpr std::span<T> as_argument() const noexcept { return {first_, size_}; }

 private:
  T* first_{};
  std::size_t size_{};
};

namespace detail {

/// Errors: `out_of_memory` naming what was asked for, what for, and what the device has free.
[[noreturn]] void throw_out_of_memory(cudaError_t status, std::string_view call, std::size_t bytes,
                                      std::string_view purpose, std::source_location at);

struct release_memory {
  void operator()(std::byte* p) const noexcept { static_cast<void>(cudaFree(p)); }
};
struct release_in_order {
  cudaStream_t in{};
  void operator()(std::byte* p) const noexcept { static_cast<void>(cudaFreeAsync(p, in)); }
};

}  // namespace detail

/// Device memory that is allocated once: the planned workspace, home tensors. Freeing it waits for the device.
class arena {
 public:
  arena() = default;
  /// `purpose` is what an error says the bytes are for. Errors: `out_of_memory`.
  explicit arena(std::int64_t bytes, std::string_view purpose = "a buffer",
                 std::source_location at = std::source_location::current());

  [[nodiscard]] std::byte* data() const noexcept { return first_.get(); }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
  /// The first `count` elements. Pre: they fit.
  template <class T>
  [[nodiscard]] device_span<T> as(std::size_t count) const noexcept {
    return {reinterpret_cast<T*>(first_.get()), count};
  }

 private:
  std::unique_ptr<std::byte, detail::release_memory> first_;
  std::int64_t bytes_{};
};

/// Elements in device memory, allocated and freed in a stream's order, without waiting for the device.
///
/// Pre: `in` outlives the buffer, and whoever else uses it is waited for by `in`. Errors: `out_of_memory`.
template <class T>
class device_buffer {
 public:
  device_buffer() = default;
  device_buffer(std::size_t size, stream_ref in, std::string_view purpose = "a buffer") : size_(size) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (size > 0) {
      void* made = nullptr;
      cudaError_t const status = cudaMallocAsync(&made, size * sizeof(T), in.get());
      if (status != cudaSuccess) {
        detail::throw_out_of_memory(status, "cudaMallocAsync", size * sizeof(T), purpose,
                                    std::source_location::current());
      }
      first_ = {static_cast<std::byte*>(made), {in.get()}};
    }
  }

  [[nodiscard]] T* address() const noexcept { return reinterpret_cast<T*>(first_.get()); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] device_span<T> span() const noexcept { return {address(), size_}; }

 private:
  std::unique_ptr<std::byte, detail::release_in_order> first_;
  std::size_t size_{};
};

/// Copies to the device; `from` must stay as it is until the stream has done it. Pre: sizes are equal.
template <class T>
void copy(std::span<T const> from, device_span<T> to, stream_ref in) {
  if (!from.empty()) {
    check(cudaMemcpyAsync(to.address(), from.data(), from.size_bytes(), cudaMemcpyHostToDevice, in.get()),
          "cudaMemcpyAsync");
  }
}
/// Copies to the host; `to` holds the elements when the stream has done it. Pre: sizes are equal.
template <class T>
void copy(device_span<T const> from, std::span<T> to, stream_ref in) {
  if (!from.empty()) {
    check(cudaMemcpyAsync(to.data(), from.address(), from.size_bytes(), cudaMemcpyDeviceToHost, in.get()),
          "cudaMemcpyAsync");
  }
}

}  // namespace libra::cuda
