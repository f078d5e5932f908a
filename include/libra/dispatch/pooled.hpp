#pragma once

#include <libra/core/indices_by.hpp>
#include <libra/dispatch/concept.hpp>
#include <libra/dispatch/node_balance.hpp>
#include <libra/dispatch/pouring.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace libra {

/// Tiled attention pooling: every rank of the pool computes an equal share of the pool's work, as much of it as
/// possible where it is. Where ranks differ in speed, shares take equal time.
///
/// Each pass is dispatched by its own cost. Work stays on its home rank, then in its group, as far as the share
/// allows; short documents stay first, since moving them costs most bytes for their work. The surplus is poured into
/// the slack of the other ranks by the wrap-around rule, in units of at most a quarter percent of the share.
///
/// Complexity: O(n log n) in the segments times key/value heads, plus O(ranks log window).
/// Source: wrap-around rule: McNaughton, "Scheduling with deadlines and loss functions", 1959.
struct pooled {
  static constexpr std::string_view name = "pooled";

  /// Nodes give away at most so many thousandths of the work that they have too much of.
  std::int32_t exported_permille{1000};

  /// The same with less given away. Pre: 0 to 1000.
  [[nodiscard]] constexpr pooled exporting_at_most(std::int32_t permille) const noexcept {
    return {std::min(exported_permille, permille)};
  }

  template <cost_model Cost>
  [[nodiscard]] pool_dispatch operator()(pool_batch const& batch, Cost const& cost, topology const& links) const {
    pool_dispatch result{.forward = {}, .backward = {}, .ranks_per_exchange = batch.ranks()};
    result.forward = dispatch(batch, cost, links, pass::forward, result);
    result.backward = dispatch(batch, cost, links, pass::backward, result);
    return result;
  }

 private:
  /// In so few nodes each rank computes as few heads of others as it can, since passing keys on inside them takes
  /// longer than waiting for the first (`bench_published`; attention of one sequence over 16 and 32 ranks).
  static constexpr std::size_t nodes_that_compute_in_parallel = 4;

  template <cost_model Cost>
  [[nodiscard]] std::vector<tile> dispatch(pool_batch const& batch, Cost const& cost, topology const& links, pass p,
                                           pool_dispatch& expected) const {
    detail::pool_work<Cost> const work(batch, cost, p);
    detail::node_balance<Cost> balance(work, links, exported_permille);
    auto const shares = balance();
    expected.expected_ps += balance.expected_ps();
    expected.exchange_ps += balance.exchange_ps();
    std::vector<detail::pouring<Cost>> nodes;
    int128 longest = 0;
    for (std::size_t n = 0; n < shares.size(); ++n) {
      std::int32_t const first = balance.nodes().first(static_cast<std::int32_t>(n));
      std::int32_t const last = balance.nodes().first(static_cast<std::int32_t>(n) + 1);
      if (last > first) {
        nodes.emplace_back(work, first, last, shares[n], shares.size() > nodes_that_compute_in_parallel,
                           balance.spans_nodes());
        longest = std::max(longest, nodes.back().least_time());
      }
    }
    std::vector<tile> tiles;
    for (detail::pouring<Cost>& node : nodes) {
      // Where other nodes take longer, nothing is gained by moving work between the ranks of this one.
      node.run(tiles, longest * 7 / 8);
    }
    sort(tiles, batch);
    return tiles;
  }

  /// By rank, segment, head and row. Complexity: linear, and n log n in the tiles of a rank and segment.
  static void sort(std::vector<tile>& tiles, pool_batch const& batch) {
    sort_by_group(tiles, batch.segments.size(), [](tile const& t) { return t.segment.index(); });
    sort_by_group(tiles, static_cast<std::size_t>(batch.ranks()), [](tile const& t) { return t.rank.index(); });
    for (auto first = tiles.begin(); first != tiles.end();) {
      auto const last = std::find_if(
          first, tiles.end(), [&](tile const& t) { return t.rank != first->rank || t.segment != first->segment; });
      std::ranges::sort(first, last, {}, [](tile const& t) { return std::pair(t.head_begin, t.q_begin); });
      first = last;
    }
  }
};
static_assert(dispatcher<pooled> && export_limiting<pooled>);

}  // namespace libra
