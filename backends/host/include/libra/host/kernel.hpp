#pragma once

#include <libra/host/scratch.hpp>
#include <libra/host/tile_kernel.hpp>
#include <libra/program/ops.hpp>
#include <libra/run/bindings.hpp>
#include <libra/run/concept.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace libra::host {

/// Bytes aligned for any region; zero at first, so that no page is touched for the first time inside a call.
class memory {
 public:
  memory() = default;
  explicit memory(std::int64_t bytes);
  [[nodiscard]] std::byte* data() const noexcept { return first_.get(); }

 private:
  struct release {
    void operator()(std::byte* first) const noexcept;
  };
  std::unique_ptr<std::byte, release> first_;
};

/// Computes a rank's ops with the tile kernel, in fp32. One per thread.
class kernel {
 public:
  using element = float;
  using memory = host::memory;
  static constexpr element_bytes width{4, 4, 4};

  [[nodiscard]] memory allocate(std::int64_t bytes) { return memory(bytes); }
  void attend(std::span<tile_task const> tiles, bindings const& at, progress_hook poll = {});
  void attend_backward(std::span<tile_task const> tiles, bindings const& at, progress_hook poll = {});
  void row_dot(std::span<dot_task const> dots, bindings const& at);
  void clear(std::span<region_task const> regions, bindings const& at);
  void reduce(std::span<reduce_task const> sums, std::span<location const> partials, bindings const& at);

 private:
  scratch scratch_;
  std::vector<head_rows<float const>> parts_;
  /// What a part of a tile's keys gives, before it is added.
  std::vector<float> part_rows_;
  std::vector<float> part_lse_;
};
static_assert(polling_kernel<kernel>);

}  // namespace libra::host
