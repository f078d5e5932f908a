#pragma once

#include <libra/core/ids.hpp>
#include <libra/core/ragged.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace libra {

/// A run of one document's tokens inside a packed sequence: tokens `[offset, offset + length)` of the document.
///
/// Attention stays inside it: two segments of one document do not see each other.
struct segment {
  document_id document;
  std::int64_t offset{};
  std::int64_t length{};

  friend constexpr bool operator==(segment const&, segment const&) = default;
};

/// What happens to a document longer than the window.
enum class overlong : std::uint8_t {
  split,     ///< cut into windows, each piece a segment of its own
  truncate,  ///< keep the first window, count the rest as truncated
  reject,    ///< `input_error` naming the document
};

[[nodiscard]] constexpr std::string_view name_of(overlong choice) noexcept {
  return choice == overlong::split ? "split" : choice == overlong::truncate ? "truncate" : "reject";
}

/// A packer's result: documents laid into windows, numbered in packed order.
struct packing {
  std::int64_t window_tokens{};
  /// Row s: the segments of sequence s in home-layout order; padding follows the last.
  ragged<segment> sequences;
  std::int64_t tokens{};
  std::int64_t truncated_tokens{};
  /// Documents that became more than one segment.
  std::int64_t split_documents{};

  [[nodiscard]] std::int64_t padding_tokens() const noexcept {
    return static_cast<std::int64_t>(sequences.size()) * window_tokens - tokens;
  }

  friend bool operator==(packing const&, packing const&) = default;
};

}  // namespace libra
