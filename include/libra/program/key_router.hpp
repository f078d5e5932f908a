#pragma once

#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/key_crossings.hpp>
#include <libra/program/key_moves.hpp>
#include <libra/program/panels.hpp>
#include <libra/program/wave_numbers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace libra::detail {

/// Plans the way of every input panel's rows, wave by wave.
///
/// What a rank of the node has already comes from there, what lies in the node from home just before it is needed, and
/// everything else across the network, earlier (`key_crossings`).
class key_router {
 public:
  /// `least_tokens`: as `key_crossings`.
  key_router(pool_batch const& batch, node_map const& nodes, std::vector<rank_tiles>& ranks, std::int64_t least_tokens)
      : batch_(batch),
        nodes_(nodes),
        ranks_(ranks),
        moves_(ranks),
        cross_(batch, nodes, least_tokens, moves_) {}

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
      cross_(w, crossings_, receivers_);
    }
    return moves_.take();
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
  /// Keys that a rank of a node got in an earlier wave; `before` is the next older of the same (segment, head).
  struct holding {
    row_range keys;
    rank_id rank;
    std::size_t panel{};
    std::size_t before{none};
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
        from_home(node, any, keys, first);
      }
    }
    for (need const& n : needs) {
      held_.push_back({n.keys, n.rank, n.panel, latest});
      latest = held_.size() - 1;
    }
  }

  void from_neighbour(std::int32_t wave, need const& n, holding const& h, row_range keys,
                      std::span<key_receiver const> receivers) {
    for (auto const& [rank, panel, until] : receivers) {
      moves_.add({.wave = until,
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

  void from_home(std::int32_t node, need const& n, row_range keys, std::size_t first) {
    std::size_t const last = receivers_.size();
    batch_.for_each_home(n.segment, keys, [&](rank_id home, row_range tokens, std::int64_t local) {
      if (nodes_.of(home) != node) {
        crossings_.push_back({n.segment, n.kv_head, tokens, home, local, node, first, last});
        return;
      }
      for (std::size_t i = first; i < last; ++i) {
        moves_.add({.wave = receivers_[i].until,
                    .round = near_round(receivers_[i].until),
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

  pool_batch const& batch_;
  node_map const& nodes_;
  std::vector<rank_tiles>& ranks_;
  key_move_list moves_;
  key_crossings cross_;
  std::vector<need> needs_;
  /// Of one wave.
  std::vector<key_crossing> crossings_;
  std::vector<key_receiver> receivers_;
  std::vector<std::int64_t> cuts_;
  std::vector<holding> held_;
  /// Shape: `[nodes, segments, kv_heads]`. The youngest holding.
  std::vector<std::size_t> latest_;
};

}  // namespace libra::detail
