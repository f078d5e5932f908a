#pragma once

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>
#include <libra/model/packing.hpp>
#include <libra/sample/index_permutation.hpp>
#include <libra/sample/length_source.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace libra {

/// How documents are read: in which order, and what becomes of one longer than the window.
struct stream_options {
  std::uint64_t seed{0};
  /// Each epoch has an order of its own; without, the order of the list.
  bool shuffle{true};
  overlong when_overlong{overlong::split};
};

/// Reads the documents of one epoch after another, in pieces of at most a window.
///
/// Complexity: constant memory; a piece takes constant time on average, whatever the size of the list.
template <length_source Source>
class document_stream {
 public:
  /// Pre: the source outlives the stream. Errors: `input_error` for a source without documents.
  document_stream(Source const& source, std::int64_t window_tokens, stream_options const& options)
      : source_(&source),
        size_(source.size()),
        window_tokens_(window_tokens),
        options_(options),
        order_(size_, 0) {
    require(size_ >= 1, "the data set has ", size_, " documents, expected at least 1");
  }

  [[nodiscard]] std::int64_t documents() const noexcept { return size_; }
  /// Documents read, over all epochs.
  [[nodiscard]] std::int64_t consumed() const noexcept { return consumed_; }
  /// What is left of the document that was read last; no tokens if nothing is.
  [[nodiscard]] segment const& rest() const noexcept { return rest_; }
  void seek(std::int64_t consumed, segment const& rest) noexcept {
    consumed_ = consumed;
    rest_ = rest;
  }

  /// The next piece, or nothing when all documents of the epochs up to `last_epoch` were read.
  ///
  /// Errors: `input_error` naming a document whose length is negative, or that `overlong::reject` refuses.
  std::optional<segment> next(std::int64_t last_epoch) {
    while (rest_.length == 0) {
      if (consumed_ / size_ > last_epoch) {
        return std::nullopt;
      }
      rest_ = document_at(consumed_);
      ++consumed_;
    }
    segment piece = rest_;
    piece.length = std::min(rest_.length, window_tokens_);
    rest_.offset += piece.length;
    rest_.length -= piece.length;
    if (rest_.length == 0) rest_ = {};
    return piece;
  }

 private:
  [[nodiscard]] segment document_at(std::int64_t position) {
    std::int64_t index = position % size_;
    if (options_.shuffle) {
      std::int64_t const epoch = position / size_;
      if (epoch != order_epoch_) {
        order_ = index_permutation(size_, mix64(mix64(options_.seed) + static_cast<std::uint64_t>(epoch)));
        order_epoch_ = epoch;
      }
      index = order_[index];
    }
    std::int64_t length = (*source_)[index];
    require(length >= 0, "length of document ", index, " is ", length, ", expected at least 0");
    if (length > window_tokens_ && options_.when_overlong != overlong::split) {
      require(options_.when_overlong == overlong::truncate, "document ", index, " has ", length,
              " tokens, expected at most the window of ", window_tokens_);
      length = window_tokens_;
    }
    return {document_id(index), 0, length};
  }

  Source const* source_;
  std::int64_t size_;
  std::int64_t window_tokens_;
  stream_options options_;
  index_permutation order_;
  std::int64_t order_epoch_{-1};
  std::int64_t consumed_{0};
  segment rest_{};
};

}  // namespace libra
