#pragma once

#include <libra/model/mask.hpp>
#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/common_ranges.hpp>
#include <libra/program/key_moves.hpp>
#include <libra/program/port_loads.hpp>
#include <libra/program/wave_numbers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <tuple>
#include <vector>

namespace libra::detail {

/// A rank that gets keys into one of its panels.
struct key_receiver {
  rank_id rank;
  std::size_t panel{};
  std::int32_t until{};  ///< the first wave that needs them
};

/// A piece that crosses to a node for some of its ranks, which are `[first, last)` of the wave's receivers.
struct key_crossing {
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
  [[nodiscard]] key_crossing cut(row_range part) const {
    key_crossing c = *this;
    c.tokens = part;
    c.local += part.begin - tokens.begin;
    return c;
  }
};

/// Brings the keys of one wave to the nodes that lack them.
///
/// What several ranks of a node need crosses to it once, spread evenly over the node's ranks, and these pass it on
/// inside in the next round. What several nodes need leaves its own once, if that relieves the home's ports: each of
/// them gets a slice, and brings it to the others a round later (a scatter and an all-gather; Barnett et al.,
/// "Interprocessor collective communication library", 1994).
class key_crossings {
 public:
  /// `least_tokens`: so many keys of one head less through each port of the home's node are worth a round.
  key_crossings(pool_batch const& batch, node_map const& nodes, std::int64_t least_tokens, key_move_list& moves)
      : batch_(batch),
        nodes_(nodes),
        least_tokens_(least_tokens),
        moves_(moves),
        loads_(nodes, least_tokens) {}

  /// Lists the moves of `crossings`, which it reorders; their receivers are in `receivers`. Complexity: O(n log n) in
  /// the crossings plus linear in moves.
  void operator()(std::int32_t wave, std::span<key_crossing> crossings, std::span<key_receiver const> receivers) {
    crossings_ = crossings;
    receivers_ = receivers;
    std::ranges::stable_sort(crossings_, {}, [](key_crossing const& c) {
      return std::tuple(c.segment, c.kv_head, c.home, c.tokens.begin, c.node);
    });
    relieved_.assign(static_cast<std::size_t>(nodes_.nodes()), 0);
    for_each_range([&](key_crossing const& c, std::size_t wanted) {
      relieved_[static_cast<std::size_t>(nodes_.of(c.home))] += c.tokens.size() * static_cast<std::int64_t>(wanted - 1);
    });
    entries_.assign(static_cast<std::size_t>(nodes_.nodes()), {});
    others_.clear();
    for_each_range([&](key_crossing const& c, std::size_t wanted) { list_entries(c, wanted); });
    loads_.clear();
    for (entry const& e : std::views::join(entries_)) {
      if (!e.spread()) {
        loads_.add(receivers_[e.what.first].rank, e.what.tokens.size());
      }
    }
    loads_.close();
    for (std::int32_t n = 0; n < nodes_.nodes(); ++n) {
      enter(wave, n);
    }
  }

 private:
  /// What enters a node, and `others_[first_other, last_other)`, who get it from there.
  struct entry {
    key_crossing what;
    std::size_t first_other{};
    std::size_t last_other{};

    [[nodiscard]] bool goes_on() const noexcept { return first_other < last_other; }
    /// True if all ranks of the node share in bringing it.
    [[nodiscard]] bool spread() const noexcept { return what.receivers() > 1 || goes_on(); }
  };

  /// Calls `visit(crossing, wanted)` for every range of keys that the same nodes want; these are `same_[0, wanted)`,
  /// already cut to the range, and `crossing` is the first.
  template <class Visit>
  void for_each_range(Visit visit) {
    for (auto first = crossings_.begin(); first != crossings_.end();) {
      auto const last = std::find_if(first, crossings_.end(), [&](key_crossing const& c) {
        return c.segment != first->segment || c.kv_head != first->kv_head || c.home != first->home;
      });
      ranges_(std::span(first, last), [&](row_range keys, std::vector<key_crossing> const& covering) {
        same_.clear();
        for (key_crossing const& c : covering) {
          same_.push_back(c.cut(keys));
        }
        std::ranges::sort(same_, {}, &key_crossing::node);
        visit(same_.front(), same_.size());
      });
      first = last;
    }
  }

  /// Lets a range enter each node that wants it, or a slice of it, if they then share.
  void list_entries(key_crossing const& range, std::size_t wanted) {
    auto const home = static_cast<std::size_t>(nodes_.of(range.home));
    auto const count = static_cast<std::int64_t>(wanted);
    bool const shared =
        wanted > 1 && relieved_[home] > least_tokens_ * ranks_of(home) && range.tokens.size() >= least_slice * count;
    for (std::int64_t i = 0; i < count; ++i) {
      key_crossing const& c = same_[static_cast<std::size_t>(i)];
      std::size_t const first = others_.size();
      row_range part = c.tokens;
      if (shared) {
        part = {c.tokens.begin + c.tokens.size() * i / count, c.tokens.begin + c.tokens.size() * (i + 1) / count};
        for (key_crossing const& other : same_) {
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
  [[nodiscard]] bool continues(entry const& e, key_crossing const& c) const {
    return e.first_other == e.last_other && e.what.tokens.end == c.tokens.begin && e.what.first == c.first &&
           e.what.home == c.home && e.what.local + e.what.tokens.size() == c.local &&
           batch_.one_home(c.segment, {e.what.tokens.begin, c.tokens.end});
  }
  [[nodiscard]] std::int64_t ranks_of(std::size_t node) const {
    auto const n = static_cast<std::int32_t>(node);
    return nodes_.first(n + 1) - nodes_.first(n);
  }

  /// Brings what enters a node for several ranks, or for other nodes too, to an equal share to each of its ranks, and
  /// what a single one needs to that, as far as neighbours need not help its port.
  void enter(std::int32_t wave, std::int32_t node) {
    for (entry const& e : entries_[static_cast<std::size_t>(node)]) {
      if (!e.spread()) {
        loads_.cut(receivers_[e.what.first].rank, e.what.tokens, 1,
                   [&](rank_id by, row_range tokens) { pass_on(wave, e, tokens, by); });
      }
    }
    // What goes on to other nodes leaves a port many times.
    enter_evenly(wave, node, [](entry const& e) { return e.goes_on(); });
    enter_evenly(wave, node, [](entry const& e) { return e.spread() && !e.goes_on(); });
  }

  /// Brings the entries of a node that are `chosen` to its ranks, to each as many keys.
  template <class Chosen>
  void enter_evenly(std::int32_t wave, std::int32_t node, Chosen chosen) {
    std::vector<entry> const& entries = entries_[static_cast<std::size_t>(node)];
    std::int64_t total = 0;
    for (entry const& e : entries) {
      total += chosen(e) ? e.what.tokens.size() : 0;
    }
    std::int64_t const ranks = ranks_of(static_cast<std::size_t>(node));
    std::int64_t done = 0;
    for (entry const& e : entries) {
      for (std::int64_t at = e.what.tokens.begin; chosen(e) && at < e.what.tokens.end;) {
        std::int64_t const by = done * ranks / total;
        std::int64_t const share_end = ((by + 1) * total + ranks - 1) / ranks;
        std::int64_t const end = std::min(e.what.tokens.end, at + std::max<std::int64_t>(1, share_end - done));
        pass_on(wave, e, {at, end}, rank_id(nodes_.first(node) + static_cast<std::int32_t>(by)));
        done += end - at;
        at = end;
      }
    }
  }

  /// Brings keys from home to rank `by`, and from there to the others of its node and to other nodes.
  void pass_on(std::int32_t wave, entry const& e, row_range tokens, rank_id by) {
    key_crossing const& c = e.what;
    key_move in{.wave = wave,
                .round = network_round(wave),
                .segment = c.segment,
                .kv_head = c.kv_head,
                .tokens = tokens,
                .from = c.home,
                .to = by,
                .local = c.local + tokens.begin - c.tokens.begin};
    aim(in, c);
    moves_.add(in);
    pass_inside(in, c);
    for (key_crossing const& other : std::span(others_).subspan(e.first_other, e.last_other - e.first_other)) {
      rank_id const there =
          other.receivers() == 1 && tokens.size() < key_block ? receivers_[other.first].rank : twin_of(by, other.node);
      key_move across = in;
      across.round = sharing_round(wave);
      across.from = by;
      across.to = there;
      across.local = -1;
      across.source = in.target;
      across.source_transit = in.target_transit;
      aim(across, other);
      moves_.add(across);
      pass_inside(across, other);
    }
  }

  /// The rank of a node that has the same place there as `r` has in its own.
  [[nodiscard]] rank_id twin_of(rank_id r, std::int32_t node) const {
    std::int32_t const place = r.value - nodes_.first(nodes_.of(r));
    return rank_id(nodes_.first(node) + place % static_cast<std::int32_t>(ranks_of(static_cast<std::size_t>(node))));
  }

  /// Where a move puts its keys: into the panel of a rank that needs them, or into a block to be passed on from.
  void aim(key_move& m, key_crossing const& c) {
    std::span const receivers = std::span(receivers_).subspan(c.first, c.receivers());
    auto const own = std::ranges::find(receivers, m.to, &key_receiver::rank);
    m.target_transit = own == receivers.end();
    if (m.target_transit) {
      m.target = moves_.add_transit(m.to, m.tokens, m.round, m.round + 1);
    } else {
      m.target = own->panel;
      m.wave = own->until;
    }
  }

  /// Passes on what `m` brought to a node to its other ranks that need it, in the next round.
  void pass_inside(key_move const& m, key_crossing const& c) {
    for (auto const& [rank, panel, until] : std::span(receivers_).subspan(c.first, c.receivers())) {
      if (rank != m.to) {
        moves_.add({.wave = until,
                    .round = m.round + 1,
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

  pool_batch const& batch_;
  node_map const& nodes_;
  std::int64_t least_tokens_;
  key_move_list& moves_;
  port_loads loads_;
  std::span<key_crossing> crossings_;
  std::span<key_receiver const> receivers_;
  common_ranges<key_crossing> ranges_;
  std::vector<key_crossing> same_;
  std::vector<key_crossing> others_;
  /// Shape: `[nodes]`. What enters each in a wave, and the keys less that leave it if others share.
  std::vector<std::vector<entry>> entries_;
  std::vector<std::int64_t> relieved_;
};

}  // namespace libra::detail
