#pragma once

#include <libra/model/pool_batch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace libra {

/// Which ranks of a pool share a node.
class node_map {
 public:
  /// `ranks_per_node` 0: all ranks of the pool are in one node.
  node_map(pool_batch const& batch, std::int32_t ranks_per_node)
      : ranks_(batch.ranks()),
        per_node_(ranks_per_node > 0 ? ranks_per_node : std::max(1, batch.ranks())),
        offset_(ranks_per_node > 0 ? static_cast<std::int32_t>(batch.first_rank % ranks_per_node) : 0) {}

  [[nodiscard]] std::int32_t nodes() const noexcept { return (offset_ + ranks_ + per_node_ - 1) / per_node_; }
  [[nodiscard]] std::int32_t of(rank_id r) const noexcept { return (offset_ + r.value) / per_node_; }
  /// The pool's ranks in a node are `[first(n), first(n + 1))`.
  [[nodiscard]] std::int32_t first(std::int32_t node) const noexcept {
    return std::clamp(node * per_node_ - offset_, 0, ranks_);
  }

 private:
  std::int32_t ranks_{};
  std::int32_t per_node_{1};
  std::int32_t offset_{};
};

}  // namespace libra
