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
    if (first >= begun_by_.size()) {
      begun_by_.resize(first + 1);
    }
    std::vector<std::size_t>& alike = begun_by_[first];
    auto const found = std::ranges::find_if(
        alike, [&](std::size_t r) { return runs_[r].last == last && runs_[r].also_last == also_last; });
    std::size_t const number = found != alike.end() ? *found : runs_.size();
    if (found == alike.end()) {
      alike.push_back(number);
      runs_.push_back({first, last, also_last, 0, 0});
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
    blocks_.push_back({fixed, offset});
    return blocks_.size() - 1;
  }

  /// Gives every block its offset.
  void place(op_order const& order) {
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      taken.clear();
      for (std::size_t other = 0; other < r; ++other) {
        bool const apart = ends_before(order, runs_[other], runs_[r]) || ends_before(order, runs_[r], runs_[other]);
        if (!apart) {
          taken.emplace_back(runs_[other].offset, runs_[other].offset + runs_[other].bytes);
        }
      }
      std::ranges::sort(taken);
      std::int64_t at = reserved_;
      for (auto const& [begin, end] : taken) {
        if (at + runs_[r].bytes <= begin) {
          break;
        }
        at = std::max(at, end);
      }
      runs_[r].offset = at;
      bytes_ = std::max(bytes_, at + runs_[r].bytes);
    }
  }

  /// Byte offset of a block. Pre: placed.
  [[nodiscard]] std::int64_t offset(std::size_t number) const noexcept {
    block const& b = blocks_[number];
    return b.run == fixed ? b.offset : runs_[b.run].offset + b.offset;
  }
  /// Size of the workspace. Pre: placed.
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  /// The run of blocks that are not placed.
  static constexpr std::size_t fixed = static_cast<std::size_t>(-1);

  struct run_of_blocks {
    std::size_t first{};
    std::size_t last{};
    std::size_t also_last{};
    std::int64_t bytes{};
    std::int64_t offset{};
  };
  [[nodiscard]] static bool ends_before(op_order const& order, run_of_blocks const& a, run_of_blocks const& b) {
    return order.before(a.last, b.first) && order.before(a.also_last, b.first);
  }
  struct block {
    std::size_t run{};
    std::int64_t offset{};
  };
  std::vector<run_of_blocks> runs_;
  /// Shape: `[ops]`. The runs that an op begins.
  std::vector<std::vector<std::size_t>> begun_by_;
  std::vector<block> blocks_;
  std::int64_t reserved_{};
  std::int64_t bytes_{};
};

}  // namespace libra
