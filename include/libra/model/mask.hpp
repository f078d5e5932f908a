#pragma once

#include <libra/core/error.hpp>
#include <libra/core/wide.hpp>

#include <algorithm>
#include <cstdint>

namespace libra {

/// Key rows are visited in blocks of this many, counted from the segment's first key whatever the tile.
///
/// Anchoring the blocks at the segment makes a row's result independent of how the segment was cut.
inline constexpr std::int64_t key_block = 128;

/// A run of rows `[begin, end)` inside a segment.
struct row_range {
  std::int64_t begin{};
  std::int64_t end{};

  [[nodiscard]] constexpr std::int64_t size() const noexcept { return end - begin; }
  friend constexpr bool operator==(row_range const&, row_range const&) = default;
};

enum class mask_kind : std::uint8_t { causal, full, window };

/// Which keys a query row sees inside its own segment. Attention never crosses segments.
///
/// - causal: row i sees keys `[0, i]`;
/// - full: every row sees every key;
/// - window: row i sees the `width_tokens` keys that end with its own, `(i - width_tokens, i]`.
struct attention_mask {
  mask_kind kind{mask_kind::causal};
  std::int64_t width_tokens{};

  [[nodiscard]] static constexpr attention_mask causal() noexcept { return {}; }
  [[nodiscard]] static constexpr attention_mask full() noexcept { return {mask_kind::full, 0}; }
  /// Errors: `input_error` when `width_tokens < 1`.
  [[nodiscard]] static constexpr attention_mask window(std::int64_t width_tokens) {
    require(width_tokens >= 1, "attention window is ", width_tokens, " tokens, expected at least 1");
    return {mask_kind::window, width_tokens};
  }

  /// The keys that `row` of a segment of `length` tokens sees.
  [[nodiscard]] constexpr row_range visible(std::int64_t row, std::int64_t length) const noexcept {
    return span(row, row + 1, length);
  }

  /// The smallest range that holds every key seen by rows `[q_begin, q_end)`. Pre: the rows are not empty.
  [[nodiscard]] constexpr row_range span(std::int64_t q_begin, std::int64_t q_end, std::int64_t length) const noexcept {
    switch (kind) {
      case mask_kind::full:
        return {0, length};
      case mask_kind::window:
        return {std::max<std::int64_t>(0, q_begin - width_tokens + 1), q_end};
      case mask_kind::causal:
        break;
    }
    return {0, q_end};
  }

  /// The key range a tile of rows `[q_begin, q_end)` works on: `span` with its begin moved down to a key block.
  [[nodiscard]] constexpr row_range panel(std::int64_t q_begin, std::int64_t q_end,
                                          std::int64_t length) const noexcept {
    row_range const seen = span(q_begin, q_end, length);
    return {seen.begin / key_block * key_block, seen.end};
  }

  /// Visible query-key pairs of one head over rows `[q_begin, q_end)`. Complexity: constant.
  [[nodiscard]] constexpr int128 pairs(std::int64_t q_begin, std::int64_t q_end, std::int64_t length) const noexcept {
    switch (kind) {
      case mask_kind::full:
        return static_cast<int128>(q_end - q_begin) * length;
      case mask_kind::window: {
        // Rows before the window is full form a triangle, the others a band of constant width.
        std::int64_t const turn = std::clamp(width_tokens, q_begin, q_end);
        return triangle(q_begin, turn) + static_cast<int128>(q_end - turn) * width_tokens;
      }
      case mask_kind::causal:
        break;
    }
    return triangle(q_begin, q_end);
  }

  friend constexpr bool operator==(attention_mask const&, attention_mask const&) = default;

 private:
  [[nodiscard]] static constexpr int128 triangle(std::int64_t begin, std::int64_t end) noexcept {
    return (static_cast<int128>(end) * (static_cast<int128>(end) + 1) -
            static_cast<int128>(begin) * (static_cast<int128>(begin) + 1)) /
           2;
  }
};

}  // namespace libra
