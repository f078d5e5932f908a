#pragma once

#include <libra/program/home_tasks.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/panels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace libra::detail {

/// The part of a rank's partial gradients that one home rank adds up.
struct gradient_piece {
  segment_id segment;
  std::int32_t kv_head{};
  rank_id from;
  std::size_t panel{};  ///< of `from`
  row_range tokens;
  std::int64_t local{};               ///< home row of `tokens.begin`
  std::size_t blocks[2]{none, none};  ///< where the home receives it; none when it is its own
};

/// Decides which tiles add to dk and dv at home directly, and gives the others partial panels.
///
/// Direct is only a tile that is alone on its (segment, kv head): several would round their sum to the home's element
/// type in between.
inline void join_gradient_panels(pool_batch const& batch, std::vector<rank_tiles>& ranks) {
  auto const kv_heads = static_cast<std::size_t>(batch.shape.kv_heads);
  std::vector<std::int32_t> tiles(batch.segments.size() * kv_heads);
  auto const count = [&](tile_ref const& t) -> std::int32_t& {
    return tiles[t.what.segment.index() * kv_heads + static_cast<std::size_t>(t.kv_head)];
  };
  for (rank_tiles const& rank : ranks) {
    for (tile_ref const& t : rank.tiles) {
      ++count(t);
    }
  }
  for (rank_tiles& rank : ranks) {
    rank.gradients = join_panels(
        rank.tiles, [&](tile_ref const& t) { return !t.keys_home || count(t) != 1; },
        [](tile_ref& t, std::size_t p) { t.gradient = p; });
  }
}

/// Cuts every rank's partial panels at the homes' boundaries.
///
/// Shape: `[ranks]`, by home; each row by segment, kv head, contributing rank and token.
[[nodiscard]] inline std::vector<std::vector<gradient_piece>> gradient_pieces_by_home(
    pool_batch const& batch, std::vector<rank_tiles> const& ranks) {
  std::vector<std::vector<gradient_piece>> homes(ranks.size());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t p = 0; p < ranks[r].gradients.size(); ++p) {
      panel const& from = ranks[r].gradients[p];
      batch.for_each_home(from.segment, from.keys, [&](rank_id home, row_range tokens, std::int64_t local) {
        homes[home.index()].push_back({from.segment, from.kv_head, rank_id(r), p, tokens, local, {none, none}});
      });
    }
  }
  for (auto& pieces : homes) {
    std::ranges::stable_sort(
        pieces, {}, [](gradient_piece const& g) { return std::tuple(g.segment, g.kv_head, g.from, g.tokens.begin); });
  }
  return homes;
}

/// Writes the sums of one home rank: wherever the set of contributing ranks changes, a new sum begins.
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
      cuts.push_back(g->tokens.begin);
      cuts.push_back(g->tokens.end);
    }
    std::ranges::sort(cuts);
    cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
        auto const begin = static_cast<std::uint32_t>(out.partials.size());
        std::int64_t local = 0;
        for (auto g = first; g != last; ++g) {
          if (g->tokens.begin <= cuts[c] && cuts[c + 1] <= g->tokens.end) {
            local = g->local + cuts[c] - g->tokens.begin;
            out.partials.push_back(location::workspace(offset_of(*g, i) + (cuts[c] - g->tokens.begin) * row_bytes));
          }
        }
        auto const end = static_cast<std::uint32_t>(out.partials.size());
        if (end > begin) {
          out.reduces.push_back(
              {{partial_sums[i], first->segment, first->kv_head, first->kv_head + 1, {cuts[c], cuts[c + 1]}},
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
