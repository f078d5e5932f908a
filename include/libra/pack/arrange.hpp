#pragma once

#include <libra/core/wide.hpp>
#include <libra/model/home.hpp>
#include <libra/model/packing.hpp>
#include <libra/pack/longest_first_order.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace libra {

namespace detail {

/// Segments by falling length, equal ones in the order of the pack, of which some are taken already.
class segment_stock {
 public:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  void clear() noexcept {
    stock_.clear();
    tokens_ = 0;
    squares_ = 0;
  }
  void add(std::int64_t length, std::size_t index) {
    stock_.push_back({length, index});
    tokens_ += length;
    squares_ += int128{length} * length;
  }
  /// Sorts what was added. Pre of everything below.
  void close() {
    auto const before = [](sized_piece const& a, sized_piece const& b) {
      return a.length != b.length ? a.length > b.length : a.index < b.index;
    };
    if (!std::ranges::is_sorted(stock_, before)) {  // most packers lay out the longest first
      std::ranges::sort(stock_, before);
    }
    left_.resize(stock_.size() + 1);
    std::iota(left_.begin(), left_.end(), std::size_t{0});
    end_ = stock_.size();
  }

  [[nodiscard]] bool empty() const noexcept { return end_ == 0; }
  /// Tokens of what is left, and its squared lengths.
  [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_; }
  [[nodiscard]] int128 squares() const noexcept { return squares_; }
  /// Takes the longest segment of at most `room` tokens, or `none`.
  std::size_t take_longest_within(std::int64_t room) {
    auto const from = std::ranges::partition_point(stock_, [&](sized_piece const& s) { return s.length > room; });
    std::size_t const which = first_left(static_cast<std::size_t>(from - stock_.begin()));
    return which == stock_.size() ? none : take(which);
  }
  /// Takes the shortest segment if it has at most `room` tokens, or `none`.
  std::size_t take_shortest_within(std::int64_t room) {
    return end_ > 0 && stock_[end_ - 1].length <= room ? take_shortest() : none;
  }
  /// Takes the shortest segment. Pre: not empty.
  std::size_t take_shortest() { return take_longest_within(stock_[end_ - 1].length); }
  /// Takes the longest segment. Pre: not empty.
  std::size_t take_longest() { return take(first_left(0)); }

 private:
  /// The first segment from `i` on that is left. Paths are halved, so that what is taken is skipped at once.
  std::size_t first_left(std::size_t i) {
    while (left_[i] != i) {
      left_[i] = left_[left_[i]];
      i = left_[i];
    }
    return i;
  }
  std::size_t take(std::size_t which) {
    left_[which] = which + 1;
    tokens_ -= stock_[which].length;
    squares_ -= int128{stock_[which].length} * stock_[which].length;
    while (end_ > 0 && left_[end_ - 1] != end_ - 1) {
      --end_;
    }
    return stock_[which].index;
  }

  std::vector<sized_piece> stock_;
  std::vector<std::size_t> left_;  ///< itself, or a later one when it is taken
  std::size_t end_{};              ///< after the last that is left
  std::int64_t tokens_{};
  int128 squares_{};
};

/// The quotient, or the largest integer if that is less. Pre: neither is negative, `b` is not 0.
[[nodiscard]] inline std::int64_t quotient(int128 a, std::int64_t b) noexcept {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  // The common case needs no slow division.
  return fits_int64(a) ? static_cast<std::int64_t>(a) / b : static_cast<std::int64_t>(std::min<int128>(a / b, most));
}

}  // namespace detail

/// Orders the segments of every sequence so that few short ones straddle a shard boundary, and shards hold like work.
///
/// A segment inside one shard can be computed where it is, without any exchange, as long as its rank has no more work
/// than others. Order inside a pack is free under a document mask, so each shard takes its share of the squared lengths
/// that are left: the longest segment that fits, then those that bring it to that share when it is full. Where none
/// fits, a segment longer than a shard bridges the boundary, since it has to cross one anyway, and only then the
/// shortest of the others. Complexity: O(n log n) in the segments. Determinism: equal segments keep their order.
inline void arrange_for_home(packing& packed, home_layout const& home) {
  if (home.cp == 1) {
    return;
  }
  std::int64_t shard = 0;
  for (std::int32_t c = 0; c < home.cp; ++c) {
    shard = std::max(shard, home.local_tokens(c));
  }
  std::vector<segment> before;
  detail::segment_stock fits;
  detail::segment_stock longer;
  for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
    std::span<segment> const row = packed.sequences[s];
    before.assign(row.begin(), row.end());
    fits.clear();
    longer.clear();
    for (std::size_t i = 0; i < before.size(); ++i) {
      (before[i].length <= shard ? fits : longer).add(before[i].length, i);
    }
    fits.close();
    longer.close();
    std::int64_t position = 0;
    std::int64_t end = 0;  // of the shard at hand
    int128 share = 0;      // of the squared lengths, as far as the shard has not got it
    for (segment& at : row) {
      bool const opens = position >= end;
      if (opens) {
        end = home.shard_begin(home.rank_of(position) + 1);
        share = fits.empty() ? 0 : fits.squares() * (end - position) / fits.tokens();
      }
      std::int64_t const room = end - position;
      // Segments of this length would fill the shard with exactly its share.
      std::int64_t const even = share <= 0 ? 0 : detail::quotient(share, room);
      std::size_t next = fits.take_longest_within(opens ? room : std::min(even, room));
      if (next == detail::segment_stock::none) {
        next = fits.take_shortest_within(room);
      }
      if (next == detail::segment_stock::none) {
        next = longer.empty() ? fits.take_shortest() : longer.take_longest();
      }
      at = before[next];
      position += at.length;
      share -= int128{at.length} * at.length;
    }
  }
}

}  // namespace libra
