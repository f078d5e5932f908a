#pragma once

#include <libra/pack/concept.hpp>
#include <libra/pack/fit_decreasing.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace libra {

namespace detail {

/// Open sequences by room, equal ones by number.
class fullest_first {
 public:
  std::optional<open_sequence> take(std::int64_t length) {
    auto const fullest = open_.lower_bound({length, 0});
    if (fullest == open_.end()) {
      return std::nullopt;
    }
    open_sequence const s{fullest->second, fullest->first};
    open_.erase(fullest);
    return s;
  }
  void put(open_sequence const& s) { open_.emplace(s.room, s.number); }

 private:
  std::set<std::pair<std::int64_t, std::size_t>> open_;
};

}  // namespace detail

/// Packs the longest documents first, each into the fullest sequence that still holds it.
///
/// Uses at most 11/9 of the fewest possible sequences, plus one. Documents of equal length are taken by position, equal
/// sequences by number. Numbering: a sequence is opened by its longest piece, and sequences are numbered by the
/// position of that piece, which mixes heavy and light ones as the list does. Complexity: O(n log n) in the pieces.
/// Source: best fit decreasing (Johnson, "Near-optimal bin packing algorithms", 1973).
struct best_fit_decreasing {
  static constexpr std::string_view name = "best_fit_decreasing";

  overlong when_overlong{overlong::split};

  [[nodiscard]] packing operator()(std::span<std::int64_t const> lengths, std::int64_t window_tokens) const {
    return fit_decreasing(lengths, window_tokens, when_overlong, detail::fullest_first{});
  }
};
static_assert(packer<best_fit_decreasing>);

}  // namespace libra
