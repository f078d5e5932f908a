#pragma once

#include <libra/model/topology.hpp>
#include <libra/pool/concept.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace libra {

/// As few pools as the bound allows, of sizes that differ by at most one, cut at the edges of nodes where that can be.
///
/// Slots stay in order, so a pool's ranks are consecutive. Which pools are the larger ones is free: from one node edge
/// to the next that any of them can meet, the larger come first; where none can be met, they come first altogether.
/// Pools that end with a node neither share its links with the next pool nor reach into another node.
/// Errors: `input_error` from `validate`. Complexity: linear in the number of pools.
struct fixed_size {
  static constexpr std::string_view name = "fixed_size";

  [[nodiscard]] pool_partition operator()(layout const& l, topology const& links) const {
    validate(l);
    validate(links);
    std::int32_t const size = l.dp / l.pools_per_step();  // of the smaller
    std::int32_t larger = l.dp % l.pools_per_step();      // pools left of each size
    std::int32_t smaller = l.pools_per_step() - larger;
    // Slots from one edge that is also an edge of nodes to the next.
    std::int32_t const between_edges = links.ranks_per_node / std::gcd(links.ranks_per_node, l.cp);
    pool_partition pools;
    while (larger + smaller > 0) {
      // The fewest pools that end at an edge, `more` of them larger.
      std::int32_t count = 1;
      std::int32_t more = 0;
      for (; count <= larger + smaller; ++count) {
        more = static_cast<std::int32_t>((between_edges - std::int64_t{count} * size % between_edges) % between_edges);
        std::int32_t const most = std::min(count, larger);
        more += more <= most ? (most - more) / between_edges * between_edges : 0;
        if (more <= most && count - more <= smaller) {
          break;
        }
      }
      if (count > larger + smaller) {
        count = larger + smaller;
        more = larger;
      }
      for (std::int32_t i = 0; i < count; ++i) {
        pools.begin.push_back(pools.begin.back() + size + (i < more ? 1 : 0));
      }
      larger -= more;
      smaller -= count - more;
    }
    return pools;
  }
};
static_assert(pool_partitioner<fixed_size>);

}  // namespace libra
