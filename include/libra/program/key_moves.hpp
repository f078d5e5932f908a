#pragma once

#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/panels.hpp>
#include <libra/program/waves.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::detail {

/// Keys and values of one (segment, head) on their way to a rank: from home, or from a neighbour that has them already.
struct key_move {
  std::int32_t wave{};
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

/// Keys that a rank receives only to pass them on, in the next round.
struct transit {
  rank_id rank;
  row_range tokens;
  std::int32_t round{};
  std::size_t blocks[2]{none, none};
};

/// How the keys and values of a pass travel.
struct key_routes {
  std::vector<key_move> moves;  ///< by round
  std::vector<transit> transits;
};

/// Plans the way of every input panel's rows, wave by wave.
///
/// What several ranks of a node need crosses to it once, spread evenly over the node's ranks, and these pass it on
/// inside in the next round. What a rank of the node has already comes from there. Everything else comes from home.
class key_router {
 public:
  key_router(pool_batch const& batch, node_map const& nodes, std::vector<rank_tiles>& ranks)
      : batch_(batch),
        nodes_(nodes),
        ranks_(ranks) {}

  [[nodiscard]] key_routes operator()(std::int32_t waves) {
    list_needs();
    latest_.assign(static_cast<std::size_t>(nodes_.nodes()) * batch_.segments.size() *
                       static_cast<std::size_t>(batch_.shape.kv_heads),
                   none);
    std::size_t at = 0;
    for (std::int32_t w = 1; w <= waves; ++w) {
      for (std::int32_t n = 0; n < nodes_.nodes(); ++n) {
        std::size_t const begin = at;
        while (at < needs_.size() && needs_[at].wave == w && needs_[at].node == n) {
          ++at;
        }
        serve(w, n, std::span(needs_).subspan(begin, at - begin));
      }
    }
    std::ranges::stable_sort(routes_.moves, {}, &key_move::round);
    return std::move(routes_);
  }

 private:
  /// A run of keys that a rank lacks until a wave.
  struct need {
    std::int32_t wave{};
    std::int32_t node{};
    segment_id segment;
    std::int32_t kv_head{};
    row_range keys;
    rank_id rank;
    std::size_t panel{};
  };
  /// Keys that a rank of a node got in an earlier wave; `before` is the next older of the same (segment, head).
  struct holding {
    row_range keys;
    rank_id rank;
    std::size_t panel{};
    std::size_t before{none};
  };
  /// A piece that crosses to a node for several of its ranks, which are `receivers_[first, last)`.
  struct crossing {
    segment_id segment;
    std::int32_t kv_head{};
    row_range tokens;
    rank_id home;
    std::int64_t local{};
    std::size_t first{};
    std::size_t last{};
  };

  /// What each wave of each panel adds to what earlier ones brought.
  void list_needs() {
    std::vector<row_range> present;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      present.assign(ranks_[r].inputs.size(), {});
      std::int32_t const node = nodes_.of(rank_id(r));
      for (tile_ref const& t : ranks_[r].tiles) {
        if (t.panel == none) {
          continue;
        }
        row_range& have = present[t.panel];
        auto const add = [&](row_range keys) {
          if (keys.size() > 0) {
            needs_.push_back({t.wave, node, t.what.segment, t.kv_head, keys, rank_id(r), t.panel});
          }
        };
        if (have.size() == 0) {
          add(t.keys);
          have = t.keys;
        } else {
          // Presence stays one run: what lies between is brought along.
          add({t.keys.begin, have.begin});
          add({have.end, t.keys.end});
          have = {std::min(have.begin, t.keys.begin), std::max(have.end, t.keys.end)};
        }
      }
    }
    std::ranges::sort(needs_, {}, [](need const& n) {
      return std::tuple(n.wave, n.node, n.segment, n.kv_head, n.rank, n.panel, n.keys.begin);
    });
  }

  void serve(std::int32_t wave, std::int32_t node, std::span<need const> needs) {
    crossings_.clear();
    receivers_.clear();
    for (std::size_t i = 0; i < needs.size();) {
      std::size_t end = i + 1;
      while (end < needs.size() && needs[end].segment == needs[i].segment && needs[end].kv_head == needs[i].kv_head) {
        ++end;
      }
      serve_panel(wave, node, needs.subspan(i, end - i));
      i = end;
    }
    cross(wave, node);
  }

  /// Serves all ranks of a node that lack keys of one (segment, head). Ranges between two cuts have the same receivers
  /// and the same holder.
  void serve_panel(std::int32_t wave, std::int32_t node, std::span<need const> needs) {
    need const& any = needs.front();
    std::size_t& latest = latest_[(static_cast<std::size_t>(node) * batch_.segments.size() + any.segment.index()) *
                                      static_cast<std::size_t>(batch_.shape.kv_heads) +
                                  static_cast<std::size_t>(any.kv_head)];
    cuts_.clear();
    auto const cut = [&](row_range keys) {
      cuts_.push_back(keys.begin);
      cuts_.push_back(keys.end);
    };
    for (need const& n : needs) {
      cut(n.keys);
    }
    for (std::size_t h = latest; h != none; h = held_[h].before) {
      cut(held_[h].keys);
    }
    std::ranges::sort(cuts_);
    cuts_.erase(std::ranges::unique(cuts_).begin(), cuts_.end());
    for (std::size_t c = 0; c + 1 < cuts_.size(); ++c) {
      row_range const keys{cuts_[c], cuts_[c + 1]};
      auto const covers = [&](row_range all) { return all.begin <= keys.begin && keys.end <= all.end; };
      std::size_t const first = receivers_.size();
      for (need const& n : needs) {
        if (covers(n.keys)) {
          receivers_.emplace_back(n.rank, n.panel);
        }
      }
      if (receivers_.size() == first) {
        continue;
      }
      std::size_t holder = latest;
      while (holder != none && !covers(held_[holder].keys)) {
        holder = held_[holder].before;
      }
      if (holder != none) {
        from_neighbour(wave, any, held_[holder], keys, std::span(receivers_).subspan(first));
      } else {
        from_home(wave, node, any, keys, first);
      }
    }
    for (need const& n : needs) {
      held_.push_back({n.keys, n.rank, n.panel, latest});
      latest = held_.size() - 1;
    }
  }

  void from_neighbour(std::int32_t wave, need const& n, holding const& h, row_range keys,
                      std::span<std::pair<rank_id, std::size_t> const> receivers) {
    for (auto const& [rank, panel] : receivers) {
      add({.wave = wave,
           .round = passing_round(wave),
           .segment = n.segment,
           .kv_head = n.kv_head,
           .tokens = keys,
           .from = h.rank,
           .to = rank,
           .source = h.panel,
           .target = panel});
    }
  }

  void from_home(std::int32_t wave, std::int32_t node, need const& n, row_range keys, std::size_t first) {
    std::size_t const last = receivers_.size();
    batch_.for_each_home(n.segment, keys, [&](rank_id home, row_range tokens, std::int64_t local) {
      if (nodes_.of(home) != node && last - first > 1) {
        crossings_.push_back({n.segment, n.kv_head, tokens, home, local, first, last});
        return;
      }
      for (std::size_t i = first; i < last; ++i) {
        add({.wave = wave,
             .round = nodes_.of(home) == node ? near_round(wave) : network_round(wave),
             .segment = n.segment,
             .kv_head = n.kv_head,
             .tokens = tokens,
             .from = home,
             .to = receivers_[i].first,
             .local = local,
             .target = receivers_[i].second});
      }
    });
  }

  /// Brings the wave's crossings to the node, an equal share to each of its ranks, and has these pass them on.
  void cross(std::int32_t wave, std::int32_t node) {
    std::int64_t total = 0;
    for (crossing const& c : crossings_) {
      total += c.tokens.size();
    }
    std::int32_t const first = nodes_.first(node);
    std::int32_t const ranks = nodes_.first(node + 1) - first;
    std::int64_t done = 0;
    for (crossing const& c : crossings_) {
      for (std::int64_t at = c.tokens.begin; at < c.tokens.end;) {
        auto const entry = static_cast<std::int32_t>(done * ranks / total);
        std::int64_t const share_end = ((std::int64_t{entry} + 1) * total + ranks - 1) / ranks;
        std::int64_t const end = std::min(c.tokens.end, at + std::max<std::int64_t>(1, share_end - done));
        pass_on(wave, c, {at, end}, rank_id(first + entry));
        done += end - at;
        at = end;
      }
    }
  }

  void pass_on(std::int32_t wave, crossing const& c, row_range tokens, rank_id entry) {
    std::span const receivers = std::span(receivers_).subspan(c.first, c.last - c.first);
    auto const own = std::ranges::find(receivers, entry, &std::pair<rank_id, std::size_t>::first);
    key_move in{.wave = wave,
                .round = network_round(wave),
                .segment = c.segment,
                .kv_head = c.kv_head,
                .tokens = tokens,
                .from = c.home,
                .to = entry,
                .local = c.local + tokens.begin - c.tokens.begin};
    in.target_transit = own == receivers.end();
    if (in.target_transit) {
      in.target = routes_.transits.size();
      routes_.transits.push_back({entry, tokens, network_round(wave), {none, none}});
    } else {
      in.target = own->second;
    }
    add(in);
    for (auto const& [rank, panel] : receivers) {
      if (rank != entry) {
        add({.wave = wave,
             .round = passing_round(wave),
             .segment = c.segment,
             .kv_head = c.kv_head,
             .tokens = tokens,
             .from = entry,
             .to = rank,
             .source = in.target,
             .target = panel,
             .source_transit = in.target_transit});
      }
    }
  }

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

  pool_batch const& batch_;
  node_map const& nodes_;
  std::vector<rank_tiles>& ranks_;
  std::vector<need> needs_;
  std::vector<crossing> crossings_;
  std::vector<std::pair<rank_id, std::size_t>> receivers_;
  std::vector<std::int64_t> cuts_;
  std::vector<holding> held_;
  /// Shape: `[nodes, segments, kv_heads]`. The youngest holding.
  std::vector<std::size_t> latest_;
  key_routes routes_;
};

}  // namespace libra::detail
