#pragma once

#include <libra/model/node_map.hpp>
#include <libra/program/gradient_routes.hpp>
#include <libra/program/op_list.hpp>
#include <libra/program/port_loads.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::detail {

/// Lets sums of gradients enter their home's node through the ports of all of its ranks.
///
/// What the port of a home would receive in a round beyond the mean of its node comes to a neighbour, which sends it on
/// a round later. Gradients that come whole are left alone: they have half the bytes, and lie where they belong.
/// Complexity: O(n log n) in the pieces.
class gradient_entries {
 public:
  /// `least_tokens`: so many rows of one head less through a port are worth a round.
  gradient_entries(node_map const& nodes, std::int64_t least_tokens, gradient_routes& routes)
      : nodes_(nodes),
        routes_(routes),
        loads_(nodes, least_tokens) {}

  void operator()() {
    std::vector<std::vector<arrival>> rounds = take_arrivals();
    for (std::vector<arrival> const& round : rounds) {
      loads_.clear();
      for (arrival const& a : round) {
        loads_.add(a.home, a.piece.tokens.size());
      }
      loads_.close();
      for (arrival const& a : round) {
        loads_.cut(a.home, a.piece.tokens, 1, [&](rank_id by, row_range tokens) { enter(a, tokens, by); });
      }
    }
    for (std::vector<gradient_piece>& pieces : routes_.homes) {
      std::ranges::stable_sort(
          pieces, {}, [](gradient_piece const& g) { return std::tuple(g.segment, g.kv_head, g.from, g.tokens.begin); });
    }
  }

 private:
  /// What a home gets from another node.
  struct arrival {
    rank_id home;
    gradient_piece piece;
  };

  /// Takes what comes from other nodes and is no gradient yet from the homes' lists. Shape: `[rounds]`.
  [[nodiscard]] std::vector<std::vector<arrival>> take_arrivals() {
    std::vector<std::vector<arrival>> rounds;
    for (std::size_t h = 0; h < routes_.homes.size(); ++h) {
      std::erase_if(routes_.homes[h], [&](gradient_piece const& g) {
        if (g.whole || nodes_.of(g.from) == nodes_.of(rank_id(h))) {
          return false;
        }
        auto const round = static_cast<std::size_t>(g.round);
        rounds.resize(std::max(rounds.size(), round + 1));
        rounds[round].push_back({rank_id(h), g});
        return true;
      });
    }
    return rounds;
  }

  /// Brings some rows of what arrives home, by way of rank `by`.
  void enter(arrival const& a, row_range tokens, rank_id by) {
    gradient_piece part = a.piece;
    part.local += tokens.begin - part.tokens.begin;
    part.tokens = tokens;
    if (by != a.home) {
      // A sum of one part is that part.
      node_sum relay{.segment = part.segment, .kv_head = part.kv_head, .tokens = tokens, .at = by, .round = part.round};
      relay.parts.push_back({.from = part.from, .panel = part.panel, .sum = part.sum});
      part.from = by;
      part.panel = none;
      part.sum = routes_.sums.size();
      relay.last_sent = ++part.round;
      routes_.sums.push_back(std::move(relay));
    }
    routes_.homes[a.home.index()].push_back(part);
  }

  node_map const& nodes_;
  gradient_routes& routes_;
  port_loads loads_;
};

}  // namespace libra::detail
