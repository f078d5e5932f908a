#pragma once

#include "tasks.hpp"

#include <libra/cuda/memory.hpp>
#include <libra/cuda/stream.hpp>
#include <libra/program/ops.hpp>

#include <cstdint>
#include <span>

namespace libra::cuda {

/// Writes the running sum of the items' units to `ends`, on the device: a tile's are blocks of 16 rows of a head, a
/// group's blocks of 16 keys, the others' rows. Pre: the items are there. Returns when the sums are.
void count_units(tile_task const* items, std::int64_t count, std::int64_t* ends, stream_ref in);
void count_units(key_group const* items, std::int64_t count, std::int64_t* ends, stream_ref in);
void count_units(region_task const* items, std::int64_t count, std::int64_t* ends, stream_ref in);
void count_units(dot_task const* items, std::int64_t count, std::int64_t* ends, stream_ref in);
void count_units(reduce_task const* items, std::int64_t count, std::int64_t* ends, stream_ref in);
void count_units(row_move const* items, std::int64_t count, std::int64_t* ends, stream_ref in);

/// Items on the device and the running sum of their units, by which a block or a warp finds its own.
template <class Item>
class task_list {
 public:
  task_list() = default;
  /// Returns when both are on the device.
  task_list(std::span<Item const> items, stream_ref in)
      : items_(items.size(), in, "a plan's lists"),
        ends_(items.size(), in, "a plan's lists") {
    if (items.empty()) {
      return;
    }
    copy(items, items_.span(), in);
    in.synchronize();
    count_units(items_.address(), count(), ends_.address(), in);
    copy<std::int64_t>(ends_.span().subspan(items.size() - 1, 1), std::span(&units_, 1), in);
    in.synchronize();
  }

  [[nodiscard]] Item const* items() const noexcept { return items_.address(); }
  [[nodiscard]] std::int64_t const* ends() const noexcept { return ends_.address(); }
  [[nodiscard]] std::int64_t count() const noexcept { return static_cast<std::int64_t>(items_.size()); }
  [[nodiscard]] std::int64_t units() const noexcept { return units_; }

 private:
  device_buffer<Item> items_;
  device_buffer<std::int64_t> ends_;
  std::int64_t units_{};
};

}  // namespace libra::cuda
