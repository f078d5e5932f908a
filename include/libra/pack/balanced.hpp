#pragma once

#include <libra/core/wide.hpp>
#include <libra/pack/concept.hpp>
#include <libra/pack/fit_decreasing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

namespace libra {

namespace detail {

/// Sequences that are filled side by side: the one with the least attention work takes the next piece that it holds.
///
/// A sequence without room for the piece at hand waits until pieces are short enough: lengths fall, so each wait ends
/// once and is paid for by the piece that caused it.
class evened_sequences {
 public:
  evened_sequences(std::size_t sequences, std::int64_t window_tokens) : window_tokens_(window_tokens) {
    for (std::size_t s = 0; s < sequences; ++s) {
      lightest_.push_back({0, s, window_tokens});  // a heap, since nothing has work yet
    }
  }

  /// The sequence that takes the piece. Pre: no piece before it was shorter.
  std::size_t take(std::int64_t length) {
    while (!waiting_.empty() && waiting_.front().room >= length) {
      std::ranges::pop_heap(waiting_, less_room);
      enter(waiting_.back());
      waiting_.pop_back();
    }
    while (!lightest_.empty() && lightest_.front().room < length) {
      waiting_.push_back(leave());
      std::ranges::push_heap(waiting_, less_room);
    }
    filling s = lightest_.empty() ? filling{0, opened_, window_tokens_} : leave();
    opened_ = std::max(opened_, s.number + 1);
    s.work += int128{length} * (int128{length} + 1) / 2;
    s.room -= length;
    if (s.room > 0) {
      enter(s);
    }
    return s.number;
  }

 private:
  struct filling {
    int128 work{};  ///< query-key pairs under a causal mask
    std::size_t number{};
    std::int64_t room{};
  };
  static bool heavier(filling const& a, filling const& b) noexcept {
    return std::tie(a.work, a.number) > std::tie(b.work, b.number);
  }
  static bool less_room(filling const& a, filling const& b) noexcept {
    return a.room != b.room ? a.room < b.room : a.number > b.number;
  }
  void enter(filling const& s) {
    lightest_.push_back(s);
    std::ranges::push_heap(lightest_, heavier);
  }
  filling leave() {
    std::ranges::pop_heap(lightest_, heavier);
    filling const s = lightest_.back();
    lightest_.pop_back();
    return s;
  }

  std::int64_t window_tokens_;
  std::size_t opened_{};  ///< sequences that hold something: the empty ones are taken by number
  std::vector<filling> lightest_;
  std::vector<filling> waiting_;
};

}  // namespace detail

/// Evens out attention work: the longest documents first, each into the sequence with the least work of those that
/// still hold it, over as few sequences as the tokens need.
///
/// Longest processing time first with the window as a second capacity. Work is counted in query-key pairs under a
/// causal mask. A piece that no sequence holds opens another one, so the window is never exceeded; more sequences are
/// used than by `best_fit_decreasing` where documents of half a window and more abound. Documents of equal length are
/// taken by position, equal sequences by number. Numbering: as `best_fit_decreasing`. Complexity: O(n log n) in the
/// pieces. Source: Graham, "Bounds on multiprocessing timing anomalies", 1969; evening out the work of packs as in
/// WLB-LLM (Wang et al., 2025).
struct balanced {
  static constexpr std::string_view name = "balanced";

  overlong when_overlong{overlong::split};

  [[nodiscard]] packing operator()(std::span<std::int64_t const> lengths, std::int64_t window_tokens) const {
    packing packed;
    packed.window_tokens = window_tokens;
    std::vector<segment> const pieces = window_pieces(lengths, window_tokens, when_overlong, packed);
    std::vector<sized_piece> const order = longest_first_order(pieces);
    auto const least = static_cast<std::size_t>(ceil_div(packed.tokens, window_tokens));
    detail::evened_sequences sequences(std::min(least, pieces.size()), window_tokens);
    detail::fitting where{std::vector<std::size_t>(pieces.size()), {}};
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::size_t const s = sequences.take(order[i].length);
      where.sequence_of[i] = s;
      if (s == where.opener.size()) {
        where.opener.push_back(order[i].index);
      }
    }
    detail::lay_out(packed, pieces, order, where);
    return packed;
  }
};
static_assert(packer<balanced>);

}  // namespace libra
