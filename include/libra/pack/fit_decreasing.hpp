#pragma once

#include <libra/model/packing.hpp>
#include <libra/pack/longest_first_order.hpp>
#include <libra/pack/pieces.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace libra {

/// A sequence that is being filled, and the tokens that it can still take.
struct open_sequence {
  std::size_t number{};  ///< in the order of opening
  std::int64_t room{};
};

/// The open sequences of a packer that takes the longest pieces first: which of them takes the next piece.
///
/// `take(length)` removes and returns the sequence that a piece of `length` tokens goes to, or nothing when a new one
/// has to be opened; `put` enters one with the room that is left, more than nothing.
template <class Rooms>
concept sequence_rooms = requires(Rooms& rooms, open_sequence const& s, std::int64_t length) {
  { rooms.take(length) } -> std::same_as<std::optional<open_sequence>>;
  rooms.put(s);
};

namespace detail {

/// Where each piece goes: its sequence, and the piece that opened each sequence, both by order of opening.
struct fitting {
  std::vector<std::size_t> sequence_of;  ///< by position in the order
  std::vector<std::size_t> opener;       ///< index of a piece
};

/// Writes the sequences in the order of their openers' positions, each with its longest piece first.
inline void lay_out(packing& packed, std::span<segment const> pieces, std::span<sized_piece const> order,
                    fitting const& where) {
  std::size_t const sequences = where.opener.size();
  std::vector<std::size_t> by_number(sequences);
  std::iota(by_number.begin(), by_number.end(), std::size_t{0});
  std::ranges::sort(by_number, {}, [&](std::size_t s) { return where.opener[s]; });

  std::vector<std::size_t> next(sequences);  // first the pieces of each, then where its next one goes
  for (std::size_t const s : where.sequence_of) {
    ++next[s];
  }
  std::vector<std::size_t> offsets{0};
  offsets.reserve(sequences + 1);
  for (std::size_t const s : by_number) {
    offsets.push_back(offsets.back() + next[s]);
    next[s] = offsets.end()[-2];
  }
  std::vector<segment> values(pieces.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    values[next[where.sequence_of[i]]++] = pieces[order[i].index];
  }
  packed.sequences = ragged<segment>(std::move(values), std::move(offsets));
}

}  // namespace detail

/// Packs the longest pieces first, each into the sequence that `rooms` chooses.
///
/// Pieces of equal length are taken by position. A sequence that took a piece takes the equal ones after it as long as
/// they fit, so `rooms` is asked once for a run of them: pre of a policy is that it would choose the same. Errors:
/// those of `window_pieces`. Complexity: linear in the pieces plus the calls of `rooms`.
template <sequence_rooms Rooms>
[[nodiscard]] packing fit_decreasing(std::span<std::int64_t const> lengths, std::int64_t window_tokens,
                                     overlong when_overlong, Rooms rooms) {
  packing packed;
  packed.window_tokens = window_tokens;
  std::vector<segment> const pieces = window_pieces(lengths, window_tokens, when_overlong, packed);
  std::vector<sized_piece> const order = longest_first_order(pieces);
  detail::fitting where{std::vector<std::size_t>(pieces.size()), {}};
  for (std::size_t i = 0; i < order.size();) {
    std::int64_t const length = order[i].length;
    std::optional<open_sequence> s = rooms.take(length);
    if (!s) {
      s = {where.opener.size(), window_tokens};
      where.opener.push_back(order[i].index);
    }
    while (i < order.size() && order[i].length == length && s->room >= length) {
      where.sequence_of[i++] = s->number;
      s->room -= length;
    }
    if (s->room > 0) {
      rooms.put(*s);
    }
  }
  detail::lay_out(packed, pieces, order, where);
  return packed;
}

}  // namespace libra
