#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace libra {

/// Rows of different lengths in one allocation (compressed sparse rows).
///
/// Shape: `values()` is `[total]`, `offsets()` is `[rows + 1]`; row r is `values()[offsets()[r], offsets()[r + 1])`.
template <class T>
class ragged {
 public:
  ragged() = default;
  /// Takes rows that are laid out already. Pre: `offsets` rises from 0 to the number of values.
  ragged(std::vector<T> values, std::vector<std::size_t> offsets)
      : values_(std::move(values)),
        offsets_(std::move(offsets)) {}

  /// Number of rows.
  [[nodiscard]] std::size_t size() const noexcept { return offsets_.size() - 1; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  [[nodiscard]] std::span<T const> operator[](std::size_t row) const noexcept {
    return {values_.data() + offsets_[row], values_.data() + offsets_[row + 1]};
  }
  [[nodiscard]] std::span<T> operator[](std::size_t row) noexcept {
    return {values_.data() + offsets_[row], values_.data() + offsets_[row + 1]};
  }

  [[nodiscard]] std::span<T const> values() const noexcept { return values_; }
  [[nodiscard]] std::span<std::size_t const> offsets() const noexcept { return offsets_; }

  /// Appends one value to the row that is being built.
  void push_back(T const& value) { values_.push_back(value); }
  /// Ends the row that is being built; the next `push_back` starts another.
  void close_row() { offsets_.push_back(values_.size()); }
  /// Appends a whole row.
  void push_row(std::span<T const> row) {
    values_.insert(values_.end(), row.begin(), row.end());
    close_row();
  }

  /// Removes all rows and keeps the capacity.
  void clear() noexcept {
    values_.clear();
    offsets_.resize(1);
  }
  void reserve(std::size_t rows, std::size_t total) {
    offsets_.reserve(rows + 1);
    values_.reserve(total);
  }

  friend bool operator==(ragged const&, ragged const&) = default;

 private:
  std::vector<T> values_;
  std::vector<std::size_t> offsets_{0};
};

}  // namespace libra
