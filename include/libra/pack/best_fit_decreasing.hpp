#pragma once

#include <libra/pack/concept.hpp>
#include <libra/pack/pieces.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace libra {

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
    packing packed;
    packed.window_tokens = window_tokens;
    auto const pieces = window_pieces(lengths, window_tokens, when_overlong, packed);
    auto const order = longest_first_order(pieces);

    std::vector<std::size_t> sequence_of(pieces.size());
    std::vector<std::size_t> opener;                      // by sequence, in the order of opening
    std::set<std::pair<std::int64_t, std::size_t>> open;  // (room, sequence)
    for (std::size_t const p : order) {
      std::int64_t const length = pieces[p].length;
      std::int64_t room = window_tokens;
      std::size_t sequence = opener.size();
      if (auto const fullest = open.lower_bound({length, 0}); fullest != open.end()) {
        std::tie(room, sequence) = *fullest;
        open.erase(fullest);
      } else {
        opener.push_back(p);
      }
      sequence_of[p] = sequence;
      if (room > length) {
        open.emplace(room - length, sequence);
      }
    }
    lay_out(packed, pieces, order, sequence_of, opener);
    return packed;
  }

 private:
  [[nodiscard]] static std::vector<std::size_t> longest_first_order(std::vector<segment> const& pieces) {
    std::vector<std::size_t> order(pieces.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t p) { return pieces[p].length; });
    return order;
  }

  /// Writes the sequences in the order of their openers' positions, each with its longest piece first.
  static void lay_out(packing& packed, std::vector<segment> const& pieces, std::vector<std::size_t> const& order,
                      std::vector<std::size_t> const& sequence_of, std::vector<std::size_t> const& opener) {
    std::vector<std::size_t> by_number(opener.size());
    std::iota(by_number.begin(), by_number.end(), std::size_t{0});
    std::ranges::sort(by_number, {}, [&](std::size_t s) { return opener[s]; });

    std::vector<std::size_t> begin(opener.size() + 1);
    for (std::size_t const s : sequence_of) {
      ++begin[s + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    std::vector<segment> grouped(pieces.size());
    for (std::size_t const p : order) {
      grouped[next[sequence_of[p]]++] = pieces[p];
    }
    packed.sequences.reserve(opener.size(), pieces.size());
    for (std::size_t const s : by_number) {
      packed.sequences.push_row(std::span(grouped).subspan(begin[s], begin[s + 1] - begin[s]));
    }
  }
};
static_assert(packer<best_fit_decreasing>);

}  // namespace libra
