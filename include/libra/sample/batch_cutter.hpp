#pragma once

#include <libra/core/error.hpp>
#include <libra/model/packing.hpp>
#include <libra/sample/document_stream.hpp>
#include <libra/sample/length_source.hpp>
#include <libra/sample/state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace libra {

/// Cuts the stream of documents into global batches of packed sequences.
///
/// A batch takes what the last one carried over, then documents in stream order until they have the tokens of a whole
/// batch. The packer makes at least that many sequences of them. Those that hold carried documents are yielded, then
/// the fullest; the others' documents are carried over. Under a packer that never leaves two sequences whose documents
/// would fit one (first fit, best fit, in order), what is carried fits one batch, and nothing is carried twice.
///
/// `Pack` is a callable `(lengths) -> packing`. Memory: proportional to a batch, not to the list. What is cut depends
/// on the tokens of a batch (`window_tokens * sequences`), not on how ranks are arranged.
template <length_source Source, class Pack>
class batch_cutter {
 public:
  batch_cutter(Source const& source, Pack pack, std::int64_t window_tokens, std::int64_t sequences,
               stream_options const& options, epoch_end at_end)
      : stream_(source, window_tokens, options),
        pack_(std::move(pack)),
        window_tokens_(window_tokens),
        sequences_(sequences),
        at_end_(at_end) {}

  [[nodiscard]] sample_position const& position() const noexcept { return at_; }
  void seek(sample_position position) { at_ = std::move(position); }

  /// The next batch, or nothing at the end of an epoch; the call after that begins the next epoch.
  ///
  /// Only the last batch of an epoch has fewer than `sequences`, and only under `epoch_end::pad`. If it throws, the
  /// position is as it was. Errors: those of the stream and of the packer; `input_error` for an epoch without tokens,
  /// or without a whole batch under `epoch_end::drop`.
  std::optional<packing> next() {
    bool const more = collect();
    if (!more && at_end_ == epoch_end::carry) {
      require(at_.batch > 0 || !pending_.empty(), "none of ", stream_.documents(),
              " documents has tokens, expected at least one");
      // Nothing was taken: these documents are read again, together with the next epoch's.
      end_epoch();
      return std::nullopt;
    }
    if (pending_.empty()) {
      require(at_.batch > 0, "none of ", stream_.documents(), " documents has tokens, expected at least one");
      take_stream_position();
      end_epoch();
      return std::nullopt;
    }
    packing batch = choose(packed_pieces(0, pending_.size()));
    if (!more && at_end_ == epoch_end::drop && rows(batch) < sequences_) {
      require(at_.batch > 0, "the data set packs into ", batch.sequences.size(),
              " sequences, expected at least dp * micro_steps = ", sequences_, " where incomplete batches are dropped");
      left_.clear();
      keep_left();
      take_stream_position();
      end_epoch();
      return std::nullopt;
    }
    keep_left();
    take_stream_position();
    ++at_.batch;
    at_.consumed_sequences += sequences_;
    return batch;
  }

 private:
  /// A run of a pending piece's tokens.
  struct run {
    std::size_t piece;
    std::int64_t offset;
    std::int64_t length;
  };

  [[nodiscard]] static std::int64_t rows(packing const& p) noexcept {
    return static_cast<std::int64_t>(p.sequences.size());
  }

  /// Fills `pending_`. False when the epoch's documents do not fill a batch.
  bool collect() {
    pending_ = at_.carried;
    return read_after_carried(window_tokens_ * sequences_ - tokens_of(pending_));
  }

  /// Reads documents behind the carried ones until they have `tokens` tokens. False when the epoch has not so many.
  bool read_after_carried(std::int64_t tokens) {
    pending_.resize(at_.carried.size());
    stream_.seek(at_.consumed_samples, at_.rest);
    while (tokens > 0) {
      std::optional<segment> const piece = stream_.next(at_.epoch);
      if (!piece) return false;
      pending_.push_back(*piece);
      tokens -= piece->length;
    }
    return true;
  }

  void take_stream_position() {
    at_.consumed_samples = stream_.consumed();
    at_.rest = stream_.rest();
  }
  void end_epoch() {
    ++at_.epoch;
    at_.batch = 0;
  }

  /// Packs pending pieces `[first, last)`; "documents" of the result count from `first`.
  [[nodiscard]] packing packed_pieces(std::size_t first, std::size_t last) {
    lengths_.clear();
    for (std::size_t i = first; i < last; ++i) lengths_.push_back(pending_[i].length);
    return pack_(std::span<std::int64_t const>(lengths_));
  }

  /// Takes the batch's sequences out of `packed`; the rest is `left_`.
  [[nodiscard]] packing choose(packing const& packed) {
    std::size_t const carried = at_.carried.size();
    std::vector<std::size_t> holding;  // sequences with carried documents
    for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
      auto const row = packed.sequences[s];
      if (std::ranges::any_of(row, [&](segment const& p) { return p.document.index() < carried; })) {
        holding.push_back(s);
      }
    }
    left_.clear();
    packing batch;
    batch.window_tokens = window_tokens_;
    if (static_cast<std::int64_t>(holding.size()) <= sequences_) {
      split(packed, 0, holding, sequences_, batch);
    } else {
      // Carried documents are scattered over too many sequences. By themselves they fill as many as they were left in;
      // only what fills the others is read then, so that again no more than a batch is left.
      packing const old = packed_pieces(0, carried);
      std::vector<std::size_t> first(static_cast<std::size_t>(std::min(rows(old), sequences_)));
      std::iota(first.begin(), first.end(), std::size_t{0});
      split(old, 0, first, sequences_, batch);
      std::int64_t const room = sequences_ - rows(batch);
      read_after_carried(room * window_tokens_);
      if (pending_.size() > carried) split(packed_pieces(carried, pending_.size()), carried, {}, room, batch);
    }
    return batch;
  }

  /// Appends to `batch` the sequences `wanted` of `packed`, then the fullest others, `most` in all and in packed order;
  /// what the others hold is left. Piece p of `packed` is pending piece `first + p`.
  void split(packing const& packed, std::size_t first, std::vector<std::size_t> const& wanted, std::int64_t most,
             packing& batch) {
    std::vector<char> taken(packed.sequences.size());
    for (std::size_t const s : wanted) taken[s] = 1;
    std::vector<std::pair<std::int64_t, std::size_t>> others;  // (minus tokens, sequence)
    for (std::size_t s = 0; s < taken.size(); ++s) {
      if (taken[s] == 0) others.emplace_back(-tokens_of(packed.sequences[s]), s);
    }
    std::ranges::sort(others);
    auto const room = static_cast<std::size_t>(most) - wanted.size();
    for (std::size_t i = 0; i < std::min(room, others.size()); ++i) taken[others[i].second] = 1;

    for (std::size_t s = 0; s < taken.size(); ++s) {
      if (taken[s] != 0) {
        append_row(packed.sequences[s], first, batch);
        continue;
      }
      for (segment const& p : packed.sequences[s]) {
        left_.push_back({first + p.document.index(), p.offset, p.length});
      }
    }
  }

  [[nodiscard]] static std::int64_t tokens_of(std::span<segment const> row) noexcept {
    return std::accumulate(row.begin(), row.end(), std::int64_t{0},
                           [](std::int64_t sum, segment const& p) { return sum + p.length; });
  }

  [[nodiscard]] segment document_run(std::size_t piece, std::int64_t offset, std::int64_t length) const noexcept {
    return {pending_[piece].document, pending_[piece].offset + offset, length};
  }

  /// Pieces of one document that follow one another become one segment again.
  void append_row(std::span<segment const> row, std::size_t first, packing& batch) {
    row_.clear();
    for (segment const& p : row) {
      segment const here = document_run(first + p.document.index(), p.offset, p.length);
      batch.tokens += here.length;
      if (!row_.empty() && row_.back().document == here.document &&
          row_.back().offset + row_.back().length == here.offset) {
        row_.back().length += here.length;
      } else {
        row_.push_back(here);
      }
    }
    batch.sequences.push_row(row_);
  }

  void keep_left() {
    std::ranges::sort(left_, {}, [](run const& r) { return std::tuple(r.piece, r.offset); });
    at_.carried.clear();
    for (run const& r : left_) at_.carried.push_back(document_run(r.piece, r.offset, r.length));
  }

  document_stream<Source> stream_;
  Pack pack_;
  std::int64_t window_tokens_;
  std::int64_t sequences_;
  epoch_end at_end_;
  sample_position at_;
  // Kept between batches for their capacity.
  std::vector<segment> pending_;
  std::vector<std::int64_t> lengths_;
  std::vector<segment> row_;
  std::vector<run> left_;
};

}  // namespace libra
