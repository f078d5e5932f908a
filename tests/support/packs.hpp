#pragma once

#include <libra/model/packing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra::test {

using pack_rows = std::vector<std::vector<segment>>;

inline pack_rows rows_of(packing const& packed) {
  pack_rows all;
  for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
    all.emplace_back(packed.sequences[s].begin(), packed.sequences[s].end());
  }
  return all;
}

/// A sequence that a naive packer fills.
struct naive_sequence {
  std::size_t opener{};
  std::int64_t room{};
  std::vector<segment> pieces;
};

/// The definition of a packer that takes the longest first, without any search structure: `choose` picks an open
/// sequence for a piece, or nothing (nullptr).
template <class Choose>
pack_rows pack_naively(std::span<std::int64_t const> lengths, std::int64_t window, Choose const& choose) {
  std::vector<segment> pieces;
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    for (std::int64_t at = 0; at < lengths[d]; at += window) {
      pieces.push_back({document_id(d), at, std::min(window, lengths[d] - at)});
    }
  }
  std::vector<bool> taken(pieces.size());
  std::vector<naive_sequence> open;
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    std::size_t next = pieces.size();
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      if (!taken[p] && (next == pieces.size() || pieces[p].length > pieces[next].length)) {
        next = p;
      }
    }
    taken[next] = true;
    naive_sequence* to = choose(open, pieces[next].length);
    if (to == nullptr) {
      to = &open.emplace_back(naive_sequence{next, window, {}});
    }
    to->room -= pieces[next].length;
    to->pieces.push_back(pieces[next]);
  }
  std::ranges::sort(open, {}, &naive_sequence::opener);
  pack_rows all;
  for (naive_sequence& o : open) {
    all.push_back(o.pieces);
  }
  return all;
}

/// The fewest windows that hold the lengths, by trying every assignment.
inline std::size_t fewest_windows(std::span<std::int64_t const> lengths, std::int64_t window) {
  std::size_t best = lengths.size();
  std::vector<std::int64_t> used;
  auto const place = [&](auto const& self, std::size_t i) -> void {
    if (used.size() >= best) {
      return;
    }
    if (i == lengths.size()) {
      best = used.size();
      return;
    }
    for (std::size_t s = 0; s < used.size(); ++s) {
      if (used[s] + lengths[i] <= window) {
        used[s] += lengths[i];
        self(self, i + 1);
        used[s] -= lengths[i];
      }
    }
    used.push_back(lengths[i]);
    self(self, i + 1);
    used.pop_back();
  };
  place(place, 0);
  return best;
}

}  // namespace libra::test
