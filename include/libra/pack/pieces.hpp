#pragma once

#include <libra/core/checked.hpp>
#include <libra/core/error.hpp>
#include <libra/model/packing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

/// The tokens of document `i` that are packed, after `when_overlong` has decided about a document above the window.
///
/// Errors: `input_error` naming the index and value of a length that is not positive, or that `when_overlong` rejects.
[[nodiscard]] inline std::int64_t packed_tokens(std::span<std::int64_t const> lengths, std::size_t i,
                                                std::int64_t window_tokens, overlong when_overlong) {
  std::int64_t const length = lengths[i];
  require(length >= 1, "length of document ", i, " is ", length, ", expected at least 1");
  if (length <= window_tokens || when_overlong == overlong::split) {
    return length;
  }
  require(when_overlong == overlong::truncate, "document ", i, " has ", length,
          " tokens, expected at most the window of ", window_tokens);
  return window_tokens;
}

/// Adds a document of `length` tokens, `packed` of which are kept, to the sums of `counts`.
///
/// Errors: `range_error` beyond 64 bits.
inline void count_tokens(packing& counts, std::int64_t length, std::int64_t packed) {
  counts.tokens = checked_int64(int128{counts.tokens} + packed, "the sum of packed tokens");
  counts.truncated_tokens =
      checked_int64(int128{counts.truncated_tokens} + length - packed, "the sum of truncated tokens");
}

/// Cuts documents into pieces that each fit the window, in document order; every piece but a document's last is a
/// whole window. Adds the tokens, the truncated tokens and the split documents to `counts`.
///
/// Errors: those of `packed_tokens` and `count_tokens`. Complexity: linear in the number of pieces.
[[nodiscard]] inline std::vector<segment> window_pieces(std::span<std::int64_t const> lengths,
                                                        std::int64_t window_tokens, overlong when_overlong,
                                                        packing& counts) {
  require(window_tokens >= 1, "window is ", window_tokens, " tokens, expected at least 1");
  std::vector<segment> pieces;
  pieces.reserve(lengths.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::int64_t const length = packed_tokens(lengths, i, window_tokens, when_overlong);
    count_tokens(counts, lengths[i], length);
    for (std::int64_t offset = 0; offset < length;) {
      std::int64_t const part = std::min(window_tokens, length - offset);
      pieces.push_back({document_id(i), offset, part});
      offset += part;
    }
    counts.split_documents += length > window_tokens ? 1 : 0;
  }
  return pieces;
}

}  // namespace libra
