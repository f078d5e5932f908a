#pragma once

#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/common_ranges.hpp>
#include <libra/program/gradient_routes.hpp>
#include <libra/program/panels.hpp>
#include <libra/program/port_loads.hpp>
#include <libra/program/wave_numbers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::detail {

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

/// Plans the way of every partial panel.
///
/// Partial sums for a home in another node are first added up inside their own, where several of its ranks have some:
/// those of a round are spread evenly over its ranks. So are those for a home in the same node, if they are many. What
/// a single rank has leaves through neighbours, as far as its port has more to send than theirs. What several nodes
/// have for the same home is added up between them, if that relieves the ports there: each adds a slice, a round later
/// (a reduce-scatter). What goes home goes in the round after that.
class gradient_router {
 public:
  /// `least_tokens`: so many rows of one head less through each port of a home's node are worth a round.
  gradient_router(pool_batch const& batch, node_map const& nodes, std::vector<rank_tiles> const& ranks,
                  std::int64_t least_tokens)
      : batch_(batch),
        nodes_(nodes),
        ranks_(ranks),
        least_tokens_(least_tokens),
        loads_(nodes, least_tokens) {}

  [[nodiscard]] gradient_routes operator()() {
    routes_.homes.resize(ranks_.size());
    for (std::int32_t n = 0; n < nodes_.nodes(); ++n) {
      list_parts(n);
      crossings_.clear();
      for (std::size_t i = 0; i < parts_.size();) {
        std::size_t end = i + 1;
        while (end < parts_.size() && parts_[end].segment == parts_[i].segment &&
               parts_[end].kv_head == parts_[i].kv_head) {
          ++end;
        }
        cut_parts(n, std::span(parts_).subspan(i, end - i));
        i = end;
      }
      add_up(n);
    }
    add_up_nodes();
    for (gradient_piece const& piece : std::views::join(routes_.homes)) {
      if (piece.sum != none) {
        std::int32_t& sent = routes_.sums[piece.sum].last_sent;
        sent = std::max(sent, piece.round);
      }
    }
    for (auto& pieces : routes_.homes) {
      std::ranges::stable_sort(
          pieces, {}, [](gradient_piece const& g) { return std::tuple(g.segment, g.kv_head, g.from, g.tokens.begin); });
    }
    return std::move(routes_);
  }

 private:
  struct part {
    segment_id segment;
    std::int32_t kv_head{};
    row_range keys;
    rank_id rank;
    std::size_t panel{};
    std::int32_t round{};
  };
  /// A piece that ranks of the node have parts of, and whose home is in another node or gets one sum.
  struct crossing {
    segment_id segment;
    std::int32_t kv_head{};
    row_range tokens;
    rank_id home;
    std::int64_t local{};
    std::vector<part> parts;
    std::int32_t round{};  ///< in which the last of them is complete

    [[nodiscard]] bool lone() const noexcept { return parts.size() == 1; }
    [[nodiscard]] std::int64_t local_of(std::int64_t token) const noexcept { return local + token - tokens.begin; }
  };

  void list_parts(std::int32_t node) {
    parts_.clear();
    for (std::int32_t r = nodes_.first(node); r < nodes_.first(node + 1); ++r) {
      std::vector<panel> const& panels = ranks_[static_cast<std::size_t>(r)].gradients;
      for (std::size_t p = 0; p < panels.size(); ++p) {
        parts_.push_back(
            {panels[p].segment, panels[p].kv_head, panels[p].keys, rank_id(r), p, std::max(1, panels[p].last_wave)});
      }
    }
    std::ranges::sort(parts_, {}, [](part const& p) { return std::tuple(p.segment, p.kv_head, p.rank, p.panel); });
  }

  void cut_parts(std::int32_t node, std::span<part const> parts) {
    std::vector<std::int64_t> cuts;
    for (part const& p : parts) {
      cuts.push_back(p.keys.begin);
      cuts.push_back(p.keys.end);
    }
    std::ranges::sort(cuts);
    cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
    std::vector<part> here;
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      here.clear();
      std::ranges::copy_if(parts, std::back_inserter(here),
                           [&](part const& p) { return p.keys.begin <= cuts[c] && cuts[c + 1] <= p.keys.end; });
      if (here.empty()) {
        continue;
      }
      batch_.for_each_home(here.front().segment, {cuts[c], cuts[c + 1]},
                           [&](rank_id home, row_range tokens, std::int64_t local) {
                             bool const together = nodes_.of(home) != node || worth_adding_up(tokens, here);
                             crossing sum{here.front().segment, here.front().kv_head, tokens, home, local, {}, 0};
                             for (part const& p : here) {
                               if (together && p.rank != home) {
                                 sum.round = std::max(sum.round, p.round);
                                 sum.parts.push_back(p);
                               } else {  // what the home itself has stays there
                                 send_directly(p, home, tokens, local, parts.size());
                               }
                             }
                             if (!sum.parts.empty()) {
                               crossings_.push_back(std::move(sum));
                             }
                           });
    }
  }

  /// True when a home is better sent one sum than the parts that ranks of its own node have.
  [[nodiscard]] bool worth_adding_up(row_range tokens, std::span<part const> parts) const {
    // Links inside a node are about eight times as fast as those between nodes; and a round is lost as well.
    return parts.size() > 2 && tokens.size() * static_cast<std::int64_t>(parts.size()) > 16 * least_tokens_;
  }

  /// Lists a part's piece for its home, as one with the piece before it if it continues that; pieces of `parts` parts
  /// alternate.
  void send_directly(part const& p, rank_id home, row_range tokens, std::int64_t local, std::size_t parts) {
    std::vector<gradient_piece>& pieces = routes_.homes[home.index()];
    auto const recent = pieces.rbegin() + static_cast<std::ptrdiff_t>(std::min(pieces.size(), parts));
    auto const before = std::find_if(pieces.rbegin(), recent, [&](gradient_piece const& g) {
      return g.from == p.rank && g.panel == p.panel && g.sum == none && g.tokens.end == tokens.begin &&
             g.local + g.tokens.size() == local && g.segment == p.segment && g.kv_head == p.kv_head;
    });
    // Runs that follow one another at home may still be two of the layout's.
    if (before != recent && batch_.one_home(p.segment, {before->tokens.begin, tokens.end})) {
      before->tokens.end = tokens.end;
    } else {
      pieces.push_back({p.segment, p.kv_head, p.rank, p.panel, none, tokens, local, p.round, false, {none, none}});
    }
  }

  /// Sends what crosses from a node on its way, round by round.
  void add_up(std::int32_t node) {
    std::ranges::stable_sort(crossings_, {}, &crossing::round);
    for (auto first = crossings_.begin(); first != crossings_.end();) {
      auto const last =
          std::find_if(first, crossings_.end(), [&](crossing const& c) { return c.round != first->round; });
      std::span const all(first, last);
      send_lone(all);
      add_up_evenly(node, all);
      first = last;
    }
  }

  /// What a single rank has leaves through its own port, and the surplus of a round a round later through neighbours'.
  void send_lone(std::span<crossing const> all) {
    loads_.clear();
    for (crossing const& c : all) {
      if (c.lone()) {
        loads_.add(c.parts.front().rank, c.tokens.size());
      }
    }
    loads_.close();
    for (crossing const& c : all) {
      if (!c.lone()) {
        continue;
      }
      part const& p = c.parts.front();
      loads_.cut(p.rank, c.tokens, 1, [&](rank_id by, row_range tokens) {
        if (by == p.rank) {
          send_directly(p, c.home, tokens, c.local_of(tokens.begin), 1);
        } else {
          add_up_at(by, c, tokens);
        }
      });
    }
  }

  /// What several ranks have is added up by all ranks of the node, an equal share each.
  void add_up_evenly(std::int32_t node, std::span<crossing const> all) {
    std::int64_t total = 0;
    for (crossing const& c : all) {
      total += c.lone() ? 0 : c.tokens.size();
    }
    std::int32_t const first = nodes_.first(node);
    std::int32_t const ranks = nodes_.first(node + 1) - first;
    std::int64_t done = 0;
    for (crossing const& c : all) {
      for (std::int64_t at = c.tokens.begin; !c.lone() && at < c.tokens.end;) {
        auto const adder = static_cast<std::int32_t>(done * ranks / total);
        std::int64_t const share_end = ((std::int64_t{adder} + 1) * total + ranks - 1) / ranks;
        std::int64_t const end = std::min(c.tokens.end, at + std::max<std::int64_t>(1, share_end - done));
        add_up_at(rank_id(first + adder), c, {at, end});
        done += end - at;
        at = end;
      }
    }
  }

  /// Has rank `adder` add up the parts of some rows and send their sum home.
  void add_up_at(rank_id adder, crossing const& c, row_range tokens) {
    if (adder == c.home) {  // which adds up whatever it gets
      for (part const& p : c.parts) {
        send_directly(p, c.home, tokens, c.local_of(tokens.begin), c.parts.size());
      }
      return;
    }
    routes_.homes[c.home.index()].push_back({c.segment,
                                             c.kv_head,
                                             adder,
                                             none,
                                             routes_.sums.size(),
                                             tokens,
                                             c.local_of(tokens.begin),
                                             c.round + 1,
                                             false,
                                             {none, none}});
    node_sum& sum = routes_.sums.emplace_back();
    sum = {.segment = c.segment, .kv_head = c.kv_head, .tokens = tokens, .at = adder, .round = c.round};
    for (part const& p : c.parts) {
      sum.parts.push_back({.from = p.rank, .panel = p.panel});
    }
  }

  /// Adds up what several nodes have for the same rows of a home.
  void add_up_nodes() {
    std::vector<std::int64_t> relieved(static_cast<std::size_t>(nodes_.nodes()));
    for (std::size_t h = 0; h < routes_.homes.size(); ++h) {
      for_each_range(rank_id(h), [&](row_range tokens) {
        relieved[static_cast<std::size_t>(nodes_.of(rank_id(h)))] +=
            tokens.size() * (static_cast<std::int64_t>(same_.size()) - 1);
      });
    }
    for (std::size_t h = 0; h < routes_.homes.size(); ++h) {
      std::int32_t const node = nodes_.of(rank_id(h));
      std::int64_t const ranks = nodes_.first(node + 1) - nodes_.first(node);
      if (relieved[static_cast<std::size_t>(node)] <= least_tokens_ * ranks) {
        continue;
      }
      std::vector<gradient_piece> pieces;
      for_each_range(rank_id(h), [&](row_range tokens) { share(tokens, pieces); });
      std::ranges::copy_if(routes_.homes[h], std::back_inserter(pieces),
                           [&](gradient_piece const& g) { return nodes_.of(g.from) == node; });
      routes_.homes[h] = std::move(pieces);
    }
  }

  /// Calls `visit(tokens)` for every range of rows of home `h` for which the same other nodes have something; these
  /// pieces are `same_`, one of each.
  template <class Visit>
  void for_each_range(rank_id h, Visit visit) {
    from_others_.clear();
    for (gradient_piece const& g : routes_.homes[h.index()]) {
      if (nodes_.of(g.from) != nodes_.of(h)) {
        from_others_.push_back(g);
      }
    }
    std::ranges::stable_sort(from_others_, {}, [](gradient_piece const& g) {
      return std::tuple(g.segment, g.kv_head, g.tokens.begin, g.from);
    });
    for (auto first = from_others_.begin(); first != from_others_.end();) {
      auto const last = std::find_if(first, from_others_.end(), [&](gradient_piece const& g) {
        return g.segment != first->segment || g.kv_head != first->kv_head;
      });
      ranges_(std::span(first, last), [&](row_range tokens, std::vector<gradient_piece>& covering) {
        same_.swap(covering);
        std::ranges::sort(same_, {}, &gradient_piece::from);
        visit(tokens);
      });
      first = last;
    }
  }

  /// Has the nodes that have something of `tokens` add it up; `pieces` is what then goes home. What is complete long
  /// before the rest is added up without it, since it would have to be kept.
  void share(row_range tokens, std::vector<gradient_piece>& pieces) {
    for (std::span<gradient_piece> left = same_; !left.empty();) {
      std::int32_t const last = std::ranges::max(left, {}, &gradient_piece::round).round;
      auto const early = std::ranges::stable_partition(
          left, [&](gradient_piece const& g) { return (last - g.round) * std::int64_t{2} < std::ssize(left); });
      share(left.first(left.size() - early.size()), last, tokens, pieces);
      left = left.last(early.size());
    }
  }
  /// Has each node that has one of `same` add up a slice of `tokens` in `round`.
  void share(std::span<gradient_piece const> same, std::int32_t round, row_range tokens,
             std::vector<gradient_piece>& pieces) {
    auto const count = static_cast<std::int64_t>(same.size());
    if (count == 1 || tokens.size() < least_slice * count) {
      for (gradient_piece const& g : same) {
        pieces.push_back(part_of(g, tokens));
      }
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      gradient_piece const& own = same[static_cast<std::size_t>(i)];
      gradient_piece piece =
          part_of(own, {tokens.begin + tokens.size() * i / count, tokens.begin + tokens.size() * (i + 1) / count});
      node_sum sum{
          .segment = own.segment, .kv_head = own.kv_head, .tokens = piece.tokens, .at = own.from, .round = round};
      for (gradient_piece const& g : same) {
        sum.parts.push_back({.from = g.from, .panel = g.panel, .sum = g.sum});
        if (g.sum != none) {
          node_sum& held = routes_.sums[g.sum];
          std::int32_t& until = g.from == own.from ? held.last_used : held.last_sent;
          until = std::max(until, round);
        }
      }
      piece.panel = none;
      piece.sum = routes_.sums.size();
      piece.round = round + 1;
      routes_.sums.push_back(std::move(sum));
      pieces.push_back(piece);
    }
  }
  [[nodiscard]] static gradient_piece part_of(gradient_piece const& g, row_range tokens) {
    gradient_piece part = g;
    part.local += tokens.begin - g.tokens.begin;
    part.tokens = tokens;
    return part;
  }

  pool_batch const& batch_;
  node_map const& nodes_;
  std::vector<rank_tiles> const& ranks_;
  std::int64_t least_tokens_;
  std::vector<part> parts_;
  std::vector<crossing> crossings_;
  port_loads loads_;
  std::vector<gradient_piece> from_others_;
  common_ranges<gradient_piece> ranges_;
  std::vector<gradient_piece> same_;
  gradient_routes routes_;
};

}  // namespace libra::detail
