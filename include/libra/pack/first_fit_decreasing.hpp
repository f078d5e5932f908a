#pragma once

#include <libra/pack/concept.hpp>
#include <libra/pack/fit_decreasing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace libra {

namespace detail {

/// Open sequences by number, in a tree whose nodes know the most room below them.
class earliest_first {
 public:
  std::optional<open_sequence> take(std::int64_t length) {
    if (most_room_[1] < length) {
      return std::nullopt;
    }
    std::size_t node = 1;
    while (node < leaves_) {
      node = 2 * node + (most_room_[2 * node] >= length ? 0 : 1);
    }
    open_sequence const s{node - leaves_, most_room_[node]};
    set(s.number, 0);
    return s;
  }
  void put(open_sequence const& s) {
    while (s.number >= leaves_) {
      grow();
    }
    set(s.number, s.room);
  }

 private:
  void set(std::size_t number, std::int64_t room) {
    std::size_t node = leaves_ + number;
    most_room_[node] = room;
    while (node > 1) {
      node /= 2;
      most_room_[node] = std::max(most_room_[2 * node], most_room_[2 * node + 1]);
    }
  }
  void grow() {
    std::vector<std::int64_t> twice(4 * leaves_);
    std::copy_n(most_room_.begin() + static_cast<std::ptrdiff_t>(leaves_), leaves_,
                twice.begin() + static_cast<std::ptrdiff_t>(2 * leaves_));
    leaves_ *= 2;
    most_room_.swap(twice);
    for (std::size_t node = leaves_ - 1; node > 0; --node) {
      most_room_[node] = std::max(most_room_[2 * node], most_room_[2 * node + 1]);
    }
  }

  std::size_t leaves_{1};
  std::vector<std::int64_t> most_room_{0, 0};  ///< node i has children 2i and 2i + 1; 0 where nothing is open
};

}  // namespace detail

/// Packs the longest documents first, each into the sequence that was opened first of those that still hold it.
///
/// Uses at most 11/9 of the fewest possible sequences, plus one. Documents of equal length are taken by position.
/// Numbering: as `best_fit_decreasing`. Complexity: O(n log n) in the pieces.
/// Source: first fit decreasing (Johnson, "Near-optimal bin packing algorithms", 1973).
struct first_fit_decreasing {
  static constexpr std::string_view name = "first_fit_decreasing";

  overlong when_overlong{overlong::split};

  [[nodiscard]] packing operator()(std::span<std::int64_t const> lengths, std::int64_t window_tokens) const {
    return fit_decreasing(lengths, window_tokens, when_overlong, detail::earliest_first{});
  }
};
static_assert(packer<first_fit_decreasing>);

}  // namespace libra
