#pragma once

#include <libra/core/ids.hpp>
#include <libra/core/indices_by.hpp>
#include <libra/model/mask.hpp>
#include <libra/program/panels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace libra::detail {

/// Keys and values of one (segment, head) on their way to a rank: from home, or from a neighbour that has them already.
struct key_move {
  std::int32_t wave{};  ///< that needs them, where they arrive in a panel
  std::int32_t round{};
  segment_id segment;
  std::int32_t kv_head{};
  row_range tokens;
  rank_id from;
  rank_id to;
  /// Home row of `tokens.begin` on `from`; negative: `from` has them in `source`.
  std::int64_t local{-1};
  std::size_t source{none};  ///< input panel of `from`, or block in transit
  std::size_t target{none};  ///< input panel of `to`, or block in transit
  bool source_transit{};
  bool target_transit{};
};

/// Keys that a rank receives only to pass them on, until round `last`.
struct transit {
  rank_id rank;
  row_range tokens;
  std::int32_t round{};
  std::int32_t last{};
  std::size_t blocks[2]{none, none};
};

/// How the keys and values of a pass travel.
struct key_routes {
  std::vector<key_move> moves;  ///< by round
  std::vector<transit> transits;
};

/// Sorts moves by round, stable. Complexity: linear in moves and rounds.
inline void sort_by_round(std::vector<key_move>& moves) {
  std::int32_t last = 0;
  for (key_move const& m : moves) {
    last = std::max(last, m.round);
  }
  sort_by_group(moves, static_cast<std::size_t>(last) + 1,
                [](key_move const& m) { return static_cast<std::size_t>(m.round); });
}

/// Lists moves, and tells the panels that they use when.
class key_move_list {
 public:
  explicit key_move_list(std::vector<rank_tiles>& ranks) : ranks_(ranks) {}

  void add(key_move const& m) {
    if (!m.target_transit) {
      panel& p = ranks_[m.to.index()].inputs[m.target];
      p.first_round = std::min(p.first_round, m.round);
    }
    if (m.local < 0 && !m.source_transit) {
      panel& p = ranks_[m.from.index()].inputs[m.source];
      p.last_round = std::max(p.last_round, m.round);
    }
    routes_.moves.push_back(m);
  }
  /// Adds a block that `rank` receives in `round` and passes on until round `last`; returns its number.
  std::size_t add_transit(rank_id rank, row_range tokens, std::int32_t round, std::int32_t last) {
    routes_.transits.push_back({rank, tokens, round, last, {none, none}});
    return routes_.transits.size() - 1;
  }
  /// Everything that was added, by round.
  [[nodiscard]] key_routes take() {
    sort_by_round(routes_.moves);
    return std::move(routes_);
  }

 private:
  std::vector<rank_tiles>& ranks_;
  key_routes routes_;
};

}  // namespace libra::detail
