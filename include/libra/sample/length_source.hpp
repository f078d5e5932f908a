#pragma once

#include <libra/core/digest.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace libra {

/// A length source: `size()` documents, `source[i]` tokens in document i, 0 for an empty one.
///
/// Always the same answer for the same index, from any thread. It need not hold the lengths: `mapped_lengths` (io)
/// reads them where they lie in a file, `computed_lengths` calls a function.
template <class Source>
concept length_source = std::move_constructible<Source> && requires(Source const& source, std::int64_t i) {
  { source.size() } -> std::convertible_to<std::int64_t>;
  { source[i] } -> std::convertible_to<std::int64_t>;
};

/// A view of lengths that lie in memory. Pre: they outlive it.
class span_lengths {
 public:
  explicit constexpr span_lengths(std::span<std::int64_t const> lengths) noexcept : lengths_(lengths) {}

  [[nodiscard]] constexpr std::int64_t size() const noexcept { return static_cast<std::int64_t>(lengths_.size()); }
  [[nodiscard]] constexpr std::int64_t operator[](std::int64_t i) const noexcept {
    return lengths_[static_cast<std::size_t>(i)];
  }

 private:
  std::span<std::int64_t const> lengths_;
};
static_assert(length_source<span_lengths>);

/// Lengths that a callable `(i) -> tokens` answers.
template <class Length>
  requires std::regular_invocable<Length const&, std::int64_t>
class computed_lengths {
 public:
  constexpr computed_lengths(std::int64_t size, Length length) : size_(size), length_(std::move(length)) {}

  [[nodiscard]] constexpr std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr std::int64_t operator[](std::int64_t i) const { return length_(i); }

 private:
  std::int64_t size_;
  Length length_;
};

/// What tells one data set from another: all lengths, in order. Complexity: linear.
template <length_source Source>
[[nodiscard]] digest digest_of_lengths(Source const& source) {
  hasher h;
  std::int64_t const size = source.size();
  h.add(size);
  for (std::int64_t i = 0; i < size; ++i) {
    h.add(static_cast<std::int64_t>(source[i]));
  }
  return h.finish();
}

}  // namespace libra
