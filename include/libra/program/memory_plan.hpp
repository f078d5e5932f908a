#pragma once

#include <libra/program/order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace libra {

/// A rank's workspace, laid out before anything runs.
///
/// Every block lives from the op that first writes it to the op that last uses it. Blocks may share bytes when one's
/// last op is certainly finished before the other's first op starts. Blocks of equal lifetime form one run, and runs
/// are placed first fit. Complexity: linear in the blocks, quadratic in the distinct lifetimes, of which there are a
/// few per wave.
class memory_plan {
 public:
  static constexpr std::int64_t alignment = 64;

  /// Adds a block and returns its number. Pre: `first` and `last` index the ops given to `place`, `first <= last`; so
  /// does `also_last`, the last user on another queue, where there are two.
  std::size_t add(std::int64_t bytes, std::size_t first, std::size_t last, std::size_t also_last) {
    if (first >= newest_.size()) {
      newest_.resize(first + 1, no_run);
    }
    std::size_t number = newest_[first];
    while (number != no_run && (runs_[number].last != last || runs_[number].also_last != also_last)) {
      number = runs_[number].older;
    }
    if (number == no_run) {
      number = runs_.size();
      runs_.push_back({first, last, also_last, std::exchange(newest_[first], number), 0, 0});
    }
    run_of_blocks& run = runs_[number];
    blocks_.push_back({number, run.bytes});
    run.bytes += (bytes + alignment - 1) / alignment * alignment;
    return blocks_.size() - 1;
  }

  std::size_t add(std::int64_t bytes, std::size_t first, std::size_t last) { return add(bytes, first, last, last); }

  /// Keeps the first `bytes` free of the blocks that are placed. Pre: a multiple of `alignment`.
  void reserve(std::int64_t bytes) noexcept { bytes_ = reserved_ = bytes; }

  /// Adds a block that lies at `offset` in what is reserved, and returns its number.
  std::size_t fix(std::int64_t offset) {
    blocks_.push_back({no_run, offset});
    return blocks_.size() - 1;
  }

  /// Gives every block its offset.
  void place(op_order const& order) {
    std::vector<placed_run> placed;  // by offset
    placed.reserve(runs_.size());
    for (run_of_blocks& run : runs_) {
      placed_run next{reserved_, run.bytes, order.finished_before(run.first), order.through(run.last)};
      op_order::counts const also = order.through(run.also_last);
      for (std::size_t q = 0; q < queue_count; ++q) {
        next.over_after[q] = std::max(next.over_after[q], also[q]);
      }
      for (auto other = placed.begin(); other != placed.end() && other->begin < next.begin + run.bytes; ++other) {
        if (!over_before(*other, next) && !over_before(next, *other)) {
          next.begin = std::max(next.begin, other->end);
        }
      }
      next.end = next.begin + run.bytes;
      placed.insert(std::ranges::upper_bound(placed, next.begin, {}, &placed_run::begin), next);
      run.offset = next.begin;
      bytes_ = std::max(bytes_, next.end);
    }
  }

  /// Byte offset of a block. Pre: placed.
  [[nodiscard]] std::int64_t offset(std::size_t number) const noexcept {
    block const& b = blocks_[number];
    return b.run == no_run ? b.offset : runs_[b.run].offset + b.offset;
  }
  /// Size of the workspace. Pre: placed.
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::size_t no_run = static_cast<std::size_t>(-1);

  struct run_of_blocks {
    std::size_t first{};
    std::size_t last{};
    std::size_t also_last{};
    std::size_t older{};  ///< the run that the same op began before
    std::int64_t bytes{};
    std::int64_t offset{};
  };
  struct placed_run {
    std::int64_t begin{};
    std::int64_t end{};
    op_order::counts over_at_start{};  ///< what has finished when its first op starts
    op_order::counts over_after{};     ///< what has finished when nothing uses it any more
  };
  [[nodiscard]] static bool over_before(placed_run const& a, placed_run const& b) noexcept {
    bool over = true;
    for (std::size_t q = 0; q < queue_count; ++q) {
      over &= a.over_after[q] <= b.over_at_start[q];
    }
    return over;
  }
  struct block {
    std::size_t run{};  ///< or `no_run` when it lies in what is reserved
    std::int64_t offset{};
  };
  std::vector<run_of_blocks> runs_;
  /// Shape: `[ops]`. The newest run that an op begins.
  std::vector<std::size_t> newest_;
  std::vector<block> blocks_;
  std::int64_t reserved_{};
  std::int64_t bytes_{};
};

}  // namespace libra
