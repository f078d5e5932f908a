#pragma once

#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/model/topology.hpp>

#include <algorithm>
#include <cstdint>

namespace libra {

/// The `stride` that lays the shards of a sequence on as many nodes as there are; 0 where a pool has only one, or where
/// shards are not contiguous.
///
/// What the ranks of a node hold is then a sample of the pool, so that less has to leave it; and the keys of an
/// outlier come from all nodes, not from one. Consecutive shards lie on different nodes.
[[nodiscard]] inline std::int32_t scattering_stride(pool_batch const& batch, topology const& links) {
  if (batch.home.kind != sharding::contiguous || batch.home.cp == 1 ||
      node_map(batch, links.ranks_per_node).nodes() == 1) {
    return 0;
  }
  std::int32_t const groups_of_a_node = (links.ranks_per_node + batch.home.cp - 1) / batch.home.cp;
  return std::max(groups_of_a_node, batch.slots / batch.home.cp) % batch.slots;
}

}  // namespace libra
