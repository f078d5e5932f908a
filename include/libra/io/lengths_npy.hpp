#pragma once

#include <libra/core/error.hpp>
#include <libra/io/in_quotes.hpp>
#include <libra/io/length_list.hpp>
#include <libra/io/npy.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace libra {

/// Document lengths in a NumPy array, in place: an array of lengths, or the cumulative starts of packed documents
/// (`cu_seqlens`).
///
/// An array that begins with 0, never decreases and has more than one entry is taken for `cu_seqlens`, whose
/// neighbours' differences are the lengths; entries that repeat its last value are padding and count no document, as
/// Megatron-LM's SFT data sets pad them (megatron/training/datasets/sft_dataset.py).
class npy_lengths {
 public:
  /// Calls `after_block` after every million entries that were checked. Complexity: linear, nothing is copied.
  ///
  /// Errors: those of `npy_array`; an array that is not one-dimensional or no int32 or int64; a negative entry, naming
  /// its byte.
  npy_lengths(std::span<std::byte const> bytes, std::string_view name, std::function<void()> const& after_block = {})
      : array_(bytes, name) {
    require(array_.shape().size() == 1, name, ": the array has ", array_.shape().size(),
            " dimensions, expected 1: lengths or cu_seqlens");
    require(array_.type() != "<u4", name, ": elements are '<u4', expected '<i4' or '<i8'");
    bool ascending = array_.size() > 1 && array_[0] == 0;
    std::int64_t documents = 0;
    for (std::int64_t i = 0; i < array_.size(); ++i) {
      std::int64_t const value = array_[i];
      require(value >= 0, name, ": byte ", array_.byte_of(i), ": entry ", i, " is ", value, ", expected at least 0");
      if (i > 0 && value != array_[i - 1]) {
        ascending = ascending && value > array_[i - 1];
        documents = i;
      }
      if (after_block && (i & 0xFFFFF) == 0xFFFFF) after_block();
    }
    cumulative_ = ascending;
    size_ = ascending ? documents : array_.size();
  }

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// Tokens of document `i`. Pre: `0 <= i < size()`.
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const noexcept {
    return cumulative_ ? array_[i + 1] - array_[i] : array_[i];
  }
  [[nodiscard]] bool cumulative() const noexcept { return cumulative_; }
  /// Where the length of document `i` is, or begins, in the file.
  [[nodiscard]] std::int64_t byte_of(std::int64_t i) const noexcept { return array_.byte_of(i); }

 private:
  npy_array array_;
  std::int64_t size_{};
  bool cumulative_{};
};

}  // namespace libra
