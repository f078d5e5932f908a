#pragma once

#include <libra/model/mask.hpp>
#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/common_ranges.hpp>
#include <libra/program/panels.hpp>
#include <libra/program/port_loads.hpp>
#include <libra/program/waves.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <tuple>
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

/// Plans the way of every input panel's rows, wave by wave.
///
/// What several ranks of a node need crosses to it once, spread evenly over the node's ranks, and these pass it on
/// inside in the next round. What a rank of the node has already comes from there. Everything else comes from home.
///
/// What several nodes need leaves its own once, if that relieves the home's ports: each of them gets a slice, and
/// brings it to the others a round later (a scatter and an all-gather; Barnett et al., "Interprocessor collective
/// communication library", 1994).
class key_router {
 public:
  /// `least_tokens`: so many keys of one head less through each port of the home's node are worth a round.
  key_router(pool_batch const& batch, node_map const& nodes, std::vector<rank_tiles>& ranks, std::int64_t least_tokens)
      : batch_(batch),
        nodes_(nodes),
        ranks_(ranks),
        least_tokens_(least_tokens),
        loads_(nodes, least_tokens) {}

  [[nodiscard]] key_routes operator()(std::int32_t waves) {
    list_needs();
    latest_.assign(static_cast<std::size_t>(nodes_.nodes()) * batch_.segments.size() *
                       static_cast<std::size_t>(batch_.shape.kv_heads),
                   none);
    std::size_t at = 0;
    for (std::int32_t w = 1; w <= waves; ++w) {
      crossings_.clear();
      receivers_.clear();
      for (std::int32_t n = 0; n < nodes_.nodes(); ++n) {
        std::size_t const begin = at;
        while (at < needs_.size() && needs_[at].wave == w && needs_[at].node == n) {
          ++at;
        }
        serve(w, n, std::span(needs_).subspan(begin, at - begin));
      }
      cross(w);
    }
    std::ranges::stable_sort(routes_.moves, {}, &key_move::round);
    return std::move(routes_);
  }

 private:
  /// A run of keys that a rank lacks until a wave.
  struct need {
    std::int32_t wave{};   ///< with whose inputs they come
    std::int32_t until{};  ///< that needs them
    std::int32_t node{};
    segment_id segment;
    std::int32_t kv_head{};
    row_range keys;
    rank_id rank;
    std::size_t panel{};
  };
  /// A rank that gets keys into one of its panels.
  struct receiver {
    rank_id rank;
    std::size_t panel{};
    std::int32_t until{};
  };
  /// Keys that a rank of a node got in an earlier wave; `before` is the next older of the same (segment, head).
  struct holding {
    row_range keys;
    rank_id rank;
    std::size_t panel{};
    std::size_t before{none};
  };
  /// A piece that crosses to a node for some of its ranks, which are `receivers_[first, last)`.
  struct crossing {
    segment_id segment;
    std::int32_t kv_head{};
    row_range tokens;
    rank_id home;
    std::int64_t local{};
    std::int32_t node{};
    std::size_t first{};
    std::size_t last{};

    [[nodiscard]] std::size_t receivers() const noexcept { return last - first; }
    /// The part of it that `part` is.
    [[nodiscard]] crossing cut(row_range part) const {
      crossing c = *this;
      c.tokens = part;
      c.local += part.begin - tokens.begin;
      return c;
    }
  };
  /// What enters a node, and `others_[first_other, last_other)`, who get it from there.
  struct entry {
    crossing what;
    std::size_t first_other{};
    std::size_t last_other{};
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
            needs_.push_back(
                {std::max(1, t.wave - keys_ahead), t.wave, node, t.what.segment, t.kv_head, keys, rank_id(r), t.panel});
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
    for (std::size_t i = 0; i < needs.size();) {
      std::size_t end = i + 1;
      while (end < needs.size() && needs[end].segment == needs[i].segment && needs[end].kv_head == needs[i].kv_head) {
        ++end;
      }
      serve_panel(wave, node, needs.subspan(i, end - i));
      i = end;
    }
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
          receivers_.push_back({n.rank, n.panel, n.until});
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
                      std::span<receiver const> receivers) {
    for (auto const& [rank, panel, until] : receivers) {
      add({.wave = until,
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
      if (nodes_.of(home) != node) {
        crossings_.push_back({n.segment, n.kv_head, tokens, home, local, node, first, last});
        return;
      }
      for (std::size_t i = first; i < last; ++i) {
        add({.wave = receivers_[i].until,
             .round = near_round(wave),
             .segment = n.segment,
             .kv_head = n.kv_head,
             .tokens = tokens,
             .from = home,
             .to = receivers_[i].rank,
             .local = local,
             .target = receivers_[i].panel});
      }
    });
  }

  /// Brings the wave's crossings to their nodes.
  void cross(std::int32_t wave) {
    std::ranges::stable_sort(crossings_, {}, [](crossing const& c) {
      return std::tuple(c.segment, c.kv_head, c.home, c.tokens.begin, c.node);
    });
    relieved_.assign(static_cast<std::size_t>(nodes_.nodes()), 0);
    for_each_range([&](crossing const& c, std::size_t wanted) {
      relieved_[static_cast<std::size_t>(nodes_.of(c.home))] += c.tokens.size() * static_cast<std::int64_t>(wanted - 1);
    });
    entries_.assign(static_cast<std::size_t>(nodes_.nodes()), {});
    others_.clear();
    for_each_range([&](crossing const& c, std::size_t wanted) { list_entries(c, wanted); });
    loads_.clear();
    for (entry const& e : std::views::join(entries_)) {
      if (e.what.receivers() == 1) {
        loads_.add(receivers_[e.what.first].rank, e.what.tokens.size());
      }
    }
    loads_.close();
    for (std::int32_t n = 0; n < nodes_.nodes(); ++n) {
      enter(wave, n);
    }
  }

  /// Calls `visit(crossing, wanted)` for every range of keys that the same nodes want; these are `same_[0, wanted)`,
  /// already cut to the range, and `crossing` is the first.
  template <class Visit>
  void for_each_range(Visit visit) {
    for (auto first = crossings_.begin(); first != crossings_.end();) {
      auto const last = std::find_if(first, crossings_.end(), [&](crossing const& c) {
        return c.segment != first->segment || c.kv_head != first->kv_head || c.home != first->home;
      });
      ranges_(std::span(first, last), [&](row_range keys, std::vector<crossing> const& covering) {
        same_.clear();
        for (crossing const& c : covering) {
          same_.push_back(c.cut(keys));
        }
        std::ranges::sort(same_, {}, &crossing::node);
        visit(same_.front(), same_.size());
      });
      first = last;
    }
  }

  /// Lets a range enter each node that wants it, or a slice of it, if they then share.
  void list_entries(crossing const& range, std::size_t wanted) {
    auto const home = static_cast<std::size_t>(nodes_.of(range.home));
    auto const count = static_cast<std::int64_t>(wanted);
    bool const shared =
        wanted > 1 && relieved_[home] > least_tokens_ * ranks_of(home) && range.tokens.size() >= least_slice * count;
    for (std::int64_t i = 0; i < count; ++i) {
      crossing const& c = same_[static_cast<std::size_t>(i)];
      std::size_t const first = others_.size();
      row_range part = c.tokens;
      if (shared) {
        part = {c.tokens.begin + c.tokens.size() * i / count, c.tokens.begin + c.tokens.size() * (i + 1) / count};
        for (crossing const& other : same_) {
          if (other.node != c.node) {
            others_.push_back(other.cut(part));
          }
        }
      }
      std::vector<entry>& entries = entries_[static_cast<std::size_t>(c.node)];
      if (!shared && !entries.empty() && continues(entries.back(), c)) {
        entries.back().what.tokens.end = part.end;
      } else {
        entries.push_back({c.cut(part), first, others_.size()});
      }
    }
  }
  /// Cut only because other nodes want a part. Runs that follow one another at home may still be two of the layout's.
  [[nodiscard]] bool continues(entry const& e, crossing const& c) const {
    return e.first_other == e.last_other && e.what.tokens.end == c.tokens.begin && e.what.first == c.first &&
           e.what.home == c.home && e.what.local + e.what.tokens.size() == c.local &&
           batch_.one_home(c.segment, {e.what.tokens.begin, c.tokens.end});
  }
  [[nodiscard]] std::int64_t ranks_of(std::size_t node) const {
    auto const n = static_cast<std::int32_t>(node);
    return nodes_.first(n + 1) - nodes_.first(n);
  }

  /// Brings what enters a node for several ranks to an equal share to each of its ranks, and what a single one needs to
  /// that, as far as neighbours need not help its port.
  void enter(std::int32_t wave, std::int32_t node) {
    std::vector<entry> const& entries = entries_[static_cast<std::size_t>(node)];
    auto const spread = [](entry const& e) { return e.what.receivers() > 1; };
    std::int64_t total = 0;
    for (entry const& e : entries) {
      total += spread(e) ? e.what.tokens.size() : 0;
    }
    std::int32_t const first = nodes_.first(node);
    std::int64_t const ranks = ranks_of(static_cast<std::size_t>(node));
    std::int64_t done = 0;
    for (entry const& e : entries) {
      if (!spread(e)) {
        loads_.cut(receivers_[e.what.first].rank, e.what.tokens, 1,
                   [&](rank_id by, row_range tokens) { pass_on(wave, e, tokens, by); });
        continue;
      }
      for (std::int64_t at = e.what.tokens.begin; at < e.what.tokens.end;) {
        std::int64_t const by = done * ranks / total;
        std::int64_t const share_end = ((by + 1) * total + ranks - 1) / ranks;
        std::int64_t const end = std::min(e.what.tokens.end, at + std::max<std::int64_t>(1, share_end - done));
        pass_on(wave, e, {at, end}, rank_id(first + static_cast<std::int32_t>(by)));
        done += end - at;
        at = end;
      }
    }
  }

  /// Brings keys from home to rank `by`, and from there to the others of its node and to other nodes.
  void pass_on(std::int32_t wave, entry const& e, row_range tokens, rank_id by) {
    crossing const& c = e.what;
    key_move in{.wave = wave,
                .round = network_round(wave),
                .segment = c.segment,
                .kv_head = c.kv_head,
                .tokens = tokens,
                .from = c.home,
                .to = by,
                .local = c.local + tokens.begin - c.tokens.begin};
    aim(in, c, wave);
    add(in);
    pass_inside(in, c, wave);
    for (crossing const& other : std::span(others_).subspan(e.first_other, e.last_other - e.first_other)) {
      rank_id const there =
          other.receivers() == 1 && tokens.size() < key_block ? receivers_[other.first].rank : twin_of(by, other.node);
      key_move across = in;
      across.round = sharing_round(wave);
      across.from = by;
      across.to = there;
      across.local = -1;
      across.source = in.target;
      across.source_transit = in.target_transit;
      aim(across, other, wave);
      add(across);
      pass_inside(across, other, wave);
    }
  }

  /// The rank of a node that has the same place there as `r` has in its own.
  [[nodiscard]] rank_id twin_of(rank_id r, std::int32_t node) const {
    std::int32_t const place = r.value - nodes_.first(nodes_.of(r));
    return rank_id(nodes_.first(node) + place % static_cast<std::int32_t>(ranks_of(static_cast<std::size_t>(node))));
  }

  /// Where a move puts its keys: into the panel of a rank that needs them, or into a block to be passed on from.
  void aim(key_move& m, crossing const& c, std::int32_t wave) {
    std::span const receivers = std::span(receivers_).subspan(c.first, c.receivers());
    auto const own = std::ranges::find(receivers, m.to, &receiver::rank);
    m.target_transit = own == receivers.end();
    if (m.target_transit) {
      m.target = routes_.transits.size();
      routes_.transits.push_back({m.to, m.tokens, m.round, passing_round(wave), {none, none}});
    } else {
      m.target = own->panel;
      m.wave = own->until;
    }
  }

  /// Passes on what `m` brought to a node to its other ranks that need it.
  void pass_inside(key_move const& m, crossing const& c, std::int32_t wave) {
    for (auto const& [rank, panel, until] : std::span(receivers_).subspan(c.first, c.receivers())) {
      if (rank != m.to) {
        add({.wave = until,
             .round = passing_round(wave),
             .segment = m.segment,
             .kv_head = m.kv_head,
             .tokens = m.tokens,
             .from = m.to,
             .to = rank,
             .source = m.target,
             .target = panel,
             .source_transit = m.target_transit});
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
  std::int64_t least_tokens_;
  port_loads loads_;
  std::vector<need> needs_;
  std::vector<crossing> crossings_;
  common_ranges<crossing> ranges_;
  std::vector<crossing> same_;
  std::vector<crossing> others_;
  /// Shape: `[nodes]`. What enters each in a wave, and the keys less that leave it if others share.
  std::vector<std::vector<entry>> entries_;
  std::vector<std::int64_t> relieved_;
  std::vector<receiver> receivers_;
  std::vector<std::int64_t> cuts_;
  std::vector<holding> held_;
  /// Shape: `[nodes, segments, kv_heads]`. The youngest holding.
  std::vector<std::size_t> latest_;
  key_routes routes_;
};

}  // namespace libra::detail
