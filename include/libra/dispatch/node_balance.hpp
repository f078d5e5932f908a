#pragma once

#include <libra/core/wide.hpp>
#include <libra/cost/concept.hpp>
#include <libra/dispatch/node_traffic.hpp>
#include <libra/dispatch/pouring.hpp>
#include <libra/model/crossing_bytes.hpp>
#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/model/topology.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace libra::detail {

/// Decides which work leaves its node, and for which other.
///
/// Nodes above the mean give away the rows whose work is largest for their bytes: those of their longest segments,
/// whole heads first, so that few key/value heads cross and every home rank sends alike. Nodes below the mean take them
/// in order. A head that none has room for is dealt out together with the next (`heads_together`), so that each taker
/// computes several, one after another: only the first one's keys are waited for then, and only the last one's sums are
/// still to go home when all is computed. Of a segment that spans nodes, rows of all heads are given away alike, so
/// that all nodes compute the same head at the same time. How much of the surplus is given away is chosen so that
/// computing in a node and sending or receiving at a port take least, as far as the two overlap (`rate`); that can be
/// nothing. A node is as fast as its ranks together.
///
/// Complexity: O(n log n) in the segments plus linear in exported heads, a dozen times if the exchange limits.
template <cost_model Cost>
class node_balance {
 public:
  /// `most_permille`: nodes give away at most so many thousandths of their surplus.
  node_balance(pool_work<Cost> const& work, topology const& links, std::int32_t most_permille = 1000)
      : work_(work),
        most_permille_(most_permille),
        batch_(work.batch),
        nodes_(batch_, links.ranks_per_node),
        links_(links),
        speed_(std::max<std::int64_t>(1, batch_.speed_of(0, batch_.ranks()))),
        bytes_(bytes_of(work.direction(), batch_.shape.head_dim)),
        traffic_(batch_, nodes_, bytes_) {}

  [[nodiscard]] node_map const& nodes() const noexcept { return nodes_; }

  /// What each node computes. Shape: `[nodes]`.
  [[nodiscard]] std::vector<std::vector<share>> operator()() {
    list_pieces();
    trial best = attempt(most_permille_, nullptr);
    if (limited_by_exchange(best)) {
      for (std::int32_t const permille : {950, 900, 850, 800, 700, 600, 500, 400, 300, 200, 100, 0}) {
        if (permille >= most_permille_) {
          continue;
        }
        if (trial const next = attempt(permille, nullptr); next.total_ps < best.total_ps) {
          best = next;
        }
      }
    }
    std::vector<std::vector<share>> shares(pieces_.size());
    attempt(best.permille, &shares);
    expected_ps_ = best.total_ps + first_and_last_ps();
    exchange_ps_ = expected_ps_ - best.computing_ps;
    return shares;
  }

  /// How long the shares are expected to take, and how much longer than it takes to compute them; only a cost model
  /// that counts time tells.
  [[nodiscard]] int128 expected_ps() const noexcept { return counts_time(work_.cost()) ? expected_ps_ : 0; }
  [[nodiscard]] int128 exchange_ps() const noexcept { return counts_time(work_.cost()) ? exchange_ps_ : 0; }

  /// Of which segments several nodes hold some. Shape: `[segments]`.
  [[nodiscard]] std::vector<bool> const& spans_nodes() const noexcept { return spans_nodes_; }

 private:
  /// Rows of a segment that one node holds.
  struct piece {
    segment_id segment;
    row_range rows;
    std::int64_t work{};  ///< of one key/value head
    std::int32_t turn{};  ///< how many of like length on its home rank come first
  };
  /// A way to share the work out, and how long it takes.
  struct trial {
    std::int32_t permille{};
    int128 computing_ps{};  ///< of the node that computes longest
    int128 exchange_ps{};   ///< of the node that sends or receives longest
    int128 total_ps{};
  };
  /// A share that leaves its node.
  struct gift {
    share what;
    int128 work{};
  };
  [[nodiscard]] std::int32_t ranks_of(std::size_t node) const {
    auto const n = static_cast<std::int32_t>(node);
    return nodes_.first(n + 1) - nodes_.first(n);
  }
  [[nodiscard]] std::int64_t speed_of(std::size_t node) const {
    auto const n = static_cast<std::int32_t>(node);
    return batch_.speed_of(nodes_.first(n), nodes_.first(n + 1));
  }
  [[nodiscard]] share head_of(piece const& p, std::int32_t kv_head) const {
    std::int32_t const group = batch_.shape.group();
    return {p.segment, kv_head * group, (kv_head + 1) * group, p.rows.begin, p.rows.end};
  }

  void list_pieces() {
    auto const nodes = static_cast<std::size_t>(nodes_.nodes());
    pieces_.assign(nodes, {});
    own_.assign(nodes, 0);
    spans_nodes_.assign(batch_.segments.size(), false);
    for (std::size_t s = 0; s < batch_.segments.size(); ++s) {
      segment_id const id(s);
      piece next{id, {}, 0, 0};
      std::int32_t node = -1;
      auto const close = [&] {
        if (node >= 0) {
          next.work = work_.work_of(head_of(next, 0));
          own_[static_cast<std::size_t>(node)] += static_cast<int128>(next.work) * batch_.shape.kv_heads;
          pieces_[static_cast<std::size_t>(node)].push_back(next);
          add_keys_from_others(next, node);
        }
      };
      batch_.for_each_home(id, {0, batch_.length(id)}, [&](rank_id home, row_range rows, std::int64_t) {
        if (nodes_.of(home) != node) {
          close();
          spans_nodes_[s] = node >= 0;
          node = nodes_.of(home);
          next.rows = rows;
        }
        next.rows.end = rows.end;
      });
      close();
    }
    for (auto& pieces : pieces_) {
      order(pieces);
    }
    traffic_.keep();
  }

  /// Long segments first; among those of like length (to a factor of two) the home ranks take turns, so that what is
  /// given away leaves through all of their ports.
  void order(std::vector<piece>& pieces) const {
    std::ranges::stable_sort(pieces, {},
                             [&](piece const& p) { return std::pair(-batch_.length(p.segment), p.segment); });
    std::vector<std::int32_t> turns(static_cast<std::size_t>(batch_.ranks()));
    auto const size_class = [&](piece const& p) {
      return std::bit_width(static_cast<std::uint64_t>(batch_.length(p.segment)));
    };
    for (auto first = pieces.begin(); first != pieces.end();) {
      auto const last =
          std::find_if(first, pieces.end(), [&](piece const& p) { return size_class(p) != size_class(*first); });
      std::ranges::fill(turns, 0);
      for (auto p = first; p != last; ++p) {
        p->turn = turns[batch_.home_of(p->segment, p->rows.begin).index()]++;
      }
      std::stable_sort(first, last, [](piece const& x, piece const& y) { return x.turn < y.turn; });
      first = last;
    }
  }

  /// Rows that stay in their node need the keys that other nodes hold.
  void add_keys_from_others(piece const& p, std::int32_t node) {
    row_range const keys = batch_.shape.mask.panel(p.rows.begin, p.rows.end, batch_.length(p.segment));
    if (p.rows.begin <= keys.begin && keys.end <= p.rows.end) {
      return;
    }
    for (std::int32_t h = 0; h < batch_.shape.kv_heads; ++h) {
      traffic_.add_keys(p.segment, h, keys, node);
    }
  }

  /// Shares out the work when every surplus is given away to so many thousandths; `shares` are the nodes', or null if
  /// only the time is of interest.
  trial attempt(std::int32_t permille, std::vector<std::vector<share>>* shares) {
    std::size_t const nodes = pieces_.size();
    given_.clear();
    std::vector<std::pair<int128, std::size_t>> takers;
    auto const above_mean = [&](std::size_t n) {
      return (own_[n] - work_.total * speed_of(n) / speed_) * permille / 1000;
    };
    for (std::size_t n = 0; n < nodes; ++n) {
      if (int128 const room = -above_mean(n); room > 0) {
        takers.emplace_back(room, n);
      }
    }
    computing_ = own_;
    for (std::size_t n = 0; n < nodes; ++n) {
      give(n, takers.empty() ? 0 : above_mean(n), shares == nullptr ? nullptr : &(*shares)[n]);
    }
    std::ranges::stable_sort(takers, {}, [](auto const& t) { return -t.first; });
    traffic_.restart();
    hand_out(takers, shares);
    return rate(permille);
  }

  /// Divides node `n`'s pieces: up to `surplus` is given away, the rest is kept.
  void give(std::size_t n, int128 surplus, std::vector<share>* kept) {
    auto const keep = [&](share const& s) {
      if (kept != nullptr) {
        kept->push_back(s);
      }
    };
    for (piece const& p : pieces_[n]) {
      if (spans_nodes_[p.segment.index()] && surplus >= work_.grain &&
          p.work * int128{batch_.shape.kv_heads} > surplus) {
        // All nodes need the keys of all heads anyhow, and should need each head's at the same time.
        for (std::int32_t h = 0; h < batch_.shape.kv_heads; ++h) {
          surplus -= give_part(n, head_of(p, h), surplus / (batch_.shape.kv_heads - h), keep);
        }
        surplus = 0;
        continue;
      }
      for (std::int32_t h = 0; h < batch_.shape.kv_heads; ++h) {
        share const all = head_of(p, h);
        if (surplus < work_.grain || surplus <= 0) {
          if (kept == nullptr) {
            return;
          }
          keep(all);
        } else if (p.work <= surplus) {
          add_gift(n, {all, p.work});
          surplus -= p.work;
        } else {
          give_part(n, all, std::exchange(surplus, 0), keep);
        }
      }
    }
  }
  void add_gift(std::size_t from, gift const& g) {
    given_.push_back(g);
    computing_[from] -= g.work;
  }

  /// Gives away the first or the last rows of a head, whichever moves fewer bytes for the work; returns that.
  template <class Keep>
  int128 give_part(std::size_t from, share const& all, int128 surplus, Keep keep) {
    share early = all;
    share late = all;
    early.end = std::clamp(work_.last_row_within(all, surplus), all.begin, all.end);
    late.begin = std::clamp(work_.first_row_within(all, surplus), all.begin, all.end);
    bool const first = early.end > early.begin && (late.begin == late.end || cost_of(early) <= cost_of(late));
    if (!first && late.begin == late.end) {
      keep(all);
      return 0;
    }
    share const& given = first ? early : late;
    share rest = all;
    (first ? rest.begin : rest.end) = first ? early.end : late.begin;
    if (rest.begin < rest.end) {
      keep(rest);
    }
    std::int64_t const work = work_.work_of(given);
    add_gift(from, {given, work});
    return work;
  }

  /// Bytes there and back.
  [[nodiscard]] std::int64_t cost_of(share const& s) const {
    return rows_of(s) * (bytes_.row_out + bytes_.row_back) + keys_of(s).size() * (bytes_.key_out + bytes_.key_back);
  }
  [[nodiscard]] static std::int64_t rows_of(share const& s) { return (s.end - s.begin) * (s.head_end - s.head_begin); }
  [[nodiscard]] row_range keys_of(share const& s) const {
    return batch_.shape.mask.panel(s.begin, s.end, batch_.length(s.segment));
  }

  /// Gives what was given away to the takers, in order; a share is cut where a taker is full.
  void hand_out(std::vector<std::pair<int128, std::size_t>> takers, std::vector<std::vector<share>>* shares) {
    std::size_t at = 0;
    for (std::size_t first = 0; first < given_.size();) {
      std::size_t const last = end_of_lot(first, takers[at].first);
      std::span const lot = std::span(given_).subspan(first, last - first);
      first = last;
      for (int128 left = sum_of(lot); left > 0; left = sum_of(lot)) {
        auto& [room, node] = takers[at];
        bool const takes_all = at + 1 == takers.size() || left <= room;
        int128 wanted = 0;
        int128 taken = 0;
        for (gift& g : lot) {
          // What a cut leaves of one head's part is added to the next one's, and in the end to any that has more.
          wanted += takes_all ? g.work : room * g.work / left;
          taken += take(g, wanted - taken, node, shares);
        }
        for (gift& g : lot) {
          taken += take(g, wanted - taken, node, shares);
        }
        room = takes_all ? room - left : 0;
        if (room <= 0 && at + 1 < takers.size()) {
          ++at;
        }
      }
    }
  }

  /// The gifts from `first` on that are dealt out together: heads of a segment for which a taker has no room, or that
  /// nodes compute at the same time.
  [[nodiscard]] std::size_t end_of_lot(std::size_t first, int128 room) const {
    gift const& one = given_[first];
    std::size_t last = first + 1;
    if (spans_nodes_[one.what.segment.index()]) {
      while (last < given_.size() && next_head(given_[last - 1].what, given_[last].what)) {
        ++last;
      }
      return last;
    }
    while (last < given_.size() && last - first < heads_together && one.work > room &&
           given_[last].what.segment == one.what.segment && given_[last].work * 2 >= one.work) {
      ++last;
    }
    return last;
  }
  [[nodiscard]] static bool next_head(share const& a, share const& b) noexcept {
    return a.segment == b.segment && a.head_begin < b.head_begin;
  }
  [[nodiscard]] static int128 sum_of(std::span<gift const> lot) {
    int128 sum = 0;
    for (gift const& g : lot) {
      sum += g.work;
    }
    return sum;
  }

  /// Gives node `to` the first rows of `g` that are within `most`; returns their work.
  int128 take(gift& g, int128 most, std::size_t to, std::vector<std::vector<share>>* shares) {
    share part = g.what;
    int128 work = g.work;
    if (work > most) {
      part.end = most < work_.grain ? part.begin : std::min(part.end, work_.last_row_within(g.what, most));
      work = part.end > part.begin ? work_.work_of(part) : 0;
    }
    if (part.end <= part.begin) {
      return 0;
    }
    computing_[to] += work;
    if (shares != nullptr) {
      (*shares)[to].push_back(part);
    }
    auto const helper = static_cast<std::int32_t>(to);
    traffic_.add_rows(part.segment, {part.begin, part.end}, part.head_end - part.head_begin, helper);
    traffic_.add_keys(part.segment, part.head_begin / batch_.shape.group(), keys_of(part), helper);
    g.what.begin = part.end;
    g.work = g.what.begin < g.what.end ? work_.work_of(g.what) : 0;
    return work;
  }

  [[nodiscard]] trial rate(std::int32_t permille) const {
    trial result{.permille = permille};
    for (std::size_t n = 0; n < pieces_.size(); ++n) {
      std::int64_t const ranks = std::max(1, ranks_of(n));
      result.computing_ps =
          std::max(result.computing_ps, at_speed(computing_[n], std::max<std::int64_t>(1, speed_of(n))));
      std::int64_t const busiest = traffic_.busiest(n) / ranks;
      result.exchange_ps = std::max(result.exchange_ps, ceil_div(int128{busiest} * picoseconds_per_second,
                                                                 int128{links_.network_bytes_per_second}));
    }
    // The first and the last round hide behind nothing, and ports are never all busy: as simulated pools have it, an
    // eighth of a short exchange shows, and five of the shorter where both take as long.
    int128 const shorter = std::min(result.computing_ps, result.exchange_ps);
    int128 const longer = std::max(result.computing_ps, result.exchange_ps);
    result.total_ps = longer + shorter / 8 + (longer > 0 ? shorter * shorter / longer / 2 : 0);
    return result;
  }

  /// What the longest segment that spans nodes makes all of them wait for: the keys of its first head cross the network
  /// twice, to a node and from there to others, and so do the sums of its last, which then enter the home.
  [[nodiscard]] int128 first_and_last_ps() const {
    std::int64_t longest = 0;
    for (std::size_t s = 0; s < batch_.segments.size(); ++s) {
      longest = std::max(longest, spans_nodes_[s] ? batch_.length(segment_id(s)) : 0);
    }
    return ceil_div(int128{longest} * (2 * bytes_.key_out + 3 * bytes_.key_back) * picoseconds_per_second,
                    int128{links_.network_bytes_per_second} * std::max(1, ranks_of(0)));
  }

  /// Only a cost model that counts time can be compared with one.
  [[nodiscard]] bool limited_by_exchange(trial const& t) const {
    return counts_time(work_.cost()) && t.exchange_ps > t.computing_ps / 8;
  }

  static constexpr std::int64_t picoseconds_per_second = 1'000'000'000'000;
  /// With more heads less is waited for, but every taker receives, passes on and adds up all of their keys. Three are
  /// best on average over real lists (docs/design.md).
  static constexpr std::size_t heads_together = 3;

  pool_work<Cost> const& work_;
  std::int32_t most_permille_{};
  pool_batch const& batch_;
  node_map nodes_;
  topology links_;
  std::int64_t speed_{};  ///< of all ranks together
  crossing_bytes bytes_;
  node_traffic traffic_;
  std::vector<std::vector<piece>> pieces_;
  std::vector<int128> own_;
  std::vector<bool> spans_nodes_;
  int128 expected_ps_{};
  int128 exchange_ps_{};
  /// Of the attempt under way. Shape: `[nodes]`.
  std::vector<gift> given_;
  std::vector<int128> computing_;
};

}  // namespace libra::detail
