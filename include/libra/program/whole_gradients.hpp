#pragma once

#include <libra/model/node_map.hpp>
#include <libra/program/gradient_routes.hpp>
#include <libra/program/op_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::detail {

/// Finds the gradients of which a home in another node gets all that there is, and has them rounded where they are
/// added up: they cross the network in the type of the home, and arrive where they belong.
///
/// The bits are those of rounding at home. What a single rank has and nobody adds up is rounded by a sum of its own, a
/// round later, which is worth it for more than `least_tokens` rows. Complexity: O(n log n) in the pieces.
class whole_gradients {
 public:
  whole_gradients(node_map const& nodes, std::int64_t least_tokens, gradient_routes& routes)
      : nodes_(nodes),
        least_tokens_(least_tokens),
        routes_(routes) {}

  void operator()() {
    for (std::size_t h = 0; h < routes_.homes.size(); ++h) {
      list_whole(rank_id(h));
    }
    // A sum that leaves in several pieces, or goes on to other sums, is rounded for all of them or none.
    std::vector<std::int64_t> tokens(routes_.sums.size());
    for (gradient_piece* const g : whole_) {
      if (g->sum != none) {
        tokens[g->sum] += g->tokens.size();
      } else if (g->tokens.size() > least_tokens_) {
        add_nothing(*g);
        tokens.push_back(g->tokens.size());
      }
    }
    for (node_sum const& s : routes_.sums) {
      for (node_sum::part const& p : s.parts) {
        if (p.sum != none) {
          tokens[p.sum] = 0;
        }
      }
    }
    for (gradient_piece* const g : whole_) {
      g->whole = g->sum != none && tokens[g->sum] == routes_.sums[g->sum].tokens.size();
      if (g->whole) {
        routes_.sums[g->sum].whole = true;
      }
    }
  }

 private:
  /// Lists the pieces of other nodes to whose rows home `h` gets nothing else.
  void list_whole(rank_id h) {
    pieces_.clear();
    for (gradient_piece& g : routes_.homes[h.index()]) {
      pieces_.push_back(&g);
    }
    std::ranges::stable_sort(
        pieces_, {}, [](gradient_piece const* g) { return std::tuple(g->segment, g->kv_head, g->tokens.begin); });
    auto const same_head = [&](std::size_t x, std::size_t y) {
      return pieces_[x]->segment == pieces_[y]->segment && pieces_[x]->kv_head == pieces_[y]->kv_head;
    };
    std::int64_t end = 0;  // of the earlier pieces of the head
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      gradient_piece& g = *pieces_[i];
      end = i > 0 && same_head(i - 1, i) ? end : 0;
      bool const last = i + 1 == pieces_.size() || !same_head(i, i + 1);
      if (end <= g.tokens.begin && (last || g.tokens.end <= pieces_[i + 1]->tokens.begin) &&
          nodes_.of(g.from) != nodes_.of(h)) {
        whole_.push_back(&g);
      }
      end = std::max(end, g.tokens.end);
    }
  }

  /// Makes a piece of a panel one of a sum, of which that is the only part, a round later.
  void add_nothing(gradient_piece& g) {
    node_sum sum{.segment = g.segment, .kv_head = g.kv_head, .tokens = g.tokens, .at = g.from, .round = g.round};
    sum.parts.push_back({.from = g.from, .panel = g.panel});
    g.panel = none;
    g.sum = routes_.sums.size();
    sum.last_sent = ++g.round;
    routes_.sums.push_back(std::move(sum));
  }

  node_map const& nodes_;
  std::int64_t least_tokens_;
  gradient_routes& routes_;
  std::vector<gradient_piece*> pieces_;  ///< of the home at hand
  std::vector<gradient_piece*> whole_;
};

}  // namespace libra::detail
