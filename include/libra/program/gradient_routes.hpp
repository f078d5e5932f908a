#pragma once

#include <libra/core/ids.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/op_list.hpp>
#include <libra/program/ops.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra::detail {

/// The part of a rank's partial gradients that one home rank adds up.
struct gradient_piece {
  segment_id segment;
  std::int32_t kv_head{};
  rank_id from;
  std::size_t panel{none};  ///< of `from`; or
  std::size_t sum{none};    ///< the node sum of `from` that it is
  row_range tokens;
  std::int64_t local{};               ///< home row of `tokens.begin`
  std::int32_t round{};               ///< in which it is sent
  bool whole{};                       ///< nothing is left to add: it comes rounded, into the home's tensor
  std::size_t blocks[2]{none, none};  ///< where the home receives it; none when it is its own, or whole
};

/// A sum of partial gradients of ranks of a node, or of several nodes, which then goes on as one.
struct node_sum {
  struct part {
    rank_id from;
    std::size_t panel{none};            ///< of `from`; or
    std::size_t sum{none};              ///< the sum of `from` that it is a part of
    std::size_t blocks[2]{none, none};  ///< where the adding rank receives it; none when it is its own
  };
  segment_id segment;
  std::int32_t kv_head{};
  row_range tokens;
  rank_id at;                ///< the adding rank
  bool whole{};              ///< it is all that its home gets, and rounded
  std::int32_t round{};      ///< in which the parts come
  std::int32_t last_sent{};  ///< the last round that takes some of it elsewhere
  std::int32_t last_used{};  ///< the round of the last sum that its own rank adds some of it to
  std::vector<part> parts{};
  std::size_t blocks[2]{none, none};
};

/// How the partial gradients of a pass come home.
struct gradient_routes {
  /// Shape: `[ranks]`, by home; each row by segment, kv head, sender and token.
  std::vector<std::vector<gradient_piece>> homes;
  std::vector<node_sum> sums;
};

/// Writes the sums of one home rank: wherever the set of contributing ranks changes, a new sum begins. What comes whole
/// needs none.
///
/// `offset_of(piece, i)` is the workspace byte of the piece's first row of dk (i = 0) or dv (i = 1).
template <class OffsetOf>
void list_reduces(std::span<gradient_piece const> pieces, std::int64_t row_bytes, OffsetOf offset_of, program& out) {
  std::vector<std::int64_t> cuts;
  for (auto first = pieces.begin(); first != pieces.end();) {
    auto const last = std::find_if(first, pieces.end(), [&](gradient_piece const& g) {
      return g.segment != first->segment || g.kv_head != first->kv_head;
    });
    cuts.clear();
    for (auto g = first; g != last; ++g) {
      if (!g->whole) {
        cuts.push_back(g->tokens.begin);
        cuts.push_back(g->tokens.end);
      }
    }
    std::ranges::sort(cuts);
    cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
        auto const begin = static_cast<std::uint32_t>(out.partials.size());
        std::int64_t local = 0;
        for (auto g = first; g != last; ++g) {
          if (!g->whole && g->tokens.begin <= cuts[c] && cuts[c + 1] <= g->tokens.end) {
            local = g->local + cuts[c] - g->tokens.begin;
            out.partials.push_back(location::workspace(offset_of(*g, i) + (cuts[c] - g->tokens.begin) * row_bytes));
          }
        }
        auto const end = static_cast<std::uint32_t>(out.partials.size());
        if (end > begin) {
          out.reduces.push_back(
              {{key_gradients[i], first->segment, first->kv_head, first->kv_head + 1, {cuts[c], cuts[c + 1]}},
               location::home(local),
               begin,
               end});
        }
      }
    }
    first = last;
  }
}

}  // namespace libra::detail
