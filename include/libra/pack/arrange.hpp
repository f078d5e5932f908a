#pragma once

#include <libra/model/home.hpp>
#include <libra/model/packing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace libra {

namespace detail {

/// Segments by length; among equals the first of the pack is the greatest, so that it is taken first.
class segment_stock {
 public:
  void add(std::int64_t length, std::size_t index) { stock_.emplace(length, -static_cast<std::int64_t>(index)); }
  [[nodiscard]] bool empty() const noexcept { return stock_.empty(); }

  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  /// Takes the longest segment of at most `room` tokens, or `none`.
  std::size_t take_longest_within(std::int64_t room) {
    auto const above = stock_.upper_bound({room, 0});
    return above == stock_.begin() ? none : take(std::prev(above));
  }
  /// Takes the shortest segment. Pre: not empty.
  std::size_t take_shortest() { return take_longest_within(stock_.begin()->first); }
  /// Takes the longest segment. Pre: not empty.
  std::size_t take_longest() { return take(std::prev(stock_.end())); }

 private:
  using stock_set = std::set<std::pair<std::int64_t, std::int64_t>>;
  std::size_t take(stock_set::iterator which) {
    auto const index = static_cast<std::size_t>(-which->second);
    stock_.erase(which);
    return index;
  }
  stock_set stock_;
};

}  // namespace detail

/// Orders the segments of every sequence so that few short ones straddle a shard boundary.
///
/// A segment inside one shard can be computed where it is, without any exchange. Order inside a pack is free under a
/// document mask, so each shard is filled with the longest segments that still fit; where none fits, a segment longer
/// than a shard bridges the boundary, since it has to cross one anyway, and only then the shortest of the others.
/// Complexity: O(n log n) in the segments. Determinism: equal segments keep their order.
inline void arrange_for_home(packing& packed, home_layout const& home) {
  if (home.cp == 1) {
    return;
  }
  std::int64_t shard = 0;
  for (std::int32_t c = 0; c < home.cp; ++c) {
    shard = std::max(shard, home.local_tokens(c));
  }
  std::vector<segment> before;
  for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
    std::span<segment> const row = packed.sequences[s];
    before.assign(row.begin(), row.end());
    detail::segment_stock fits;
    detail::segment_stock longer;
    for (std::size_t i = 0; i < before.size(); ++i) {
      (before[i].length <= shard ? fits : longer).add(before[i].length, i);
    }
    std::int64_t position = 0;
    for (segment& at : row) {
      std::int64_t const room = home.shard_begin(home.rank_of(position) + 1) - position;
      std::size_t next = fits.take_longest_within(room);
      if (next == detail::segment_stock::none) {
        next = longer.empty() ? fits.take_shortest() : longer.take_longest();
      }
      at = before[next];
      position += at.length;
    }
  }
}

}  // namespace libra
