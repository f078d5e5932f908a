#pragma once

#include <libra/model/pool_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra {

/// Which ranks of a pool share a node and may exchange with each other.
class node_map {
 public:
  /// `ranks_per_node` 0: all ranks of the pool are in one node. `groups_apart`: every group counts as a node of its
  /// own, for systems that exchange inside groups only. Complexity: linear in the ranks.
  node_map(pool_batch const& batch, std::int32_t ranks_per_node, bool groups_apart = false) {
    std::int64_t const offset = ranks_per_node > 0 ? batch.first_rank % ranks_per_node : 0;
    for (std::int32_t r = 0; r < batch.ranks(); ++r) {
      bool const node_begins = ranks_per_node > 0 && (offset + r) % ranks_per_node == 0;
      bool const group_begins = groups_apart && r % batch.home.cp == 0;
      if (r == 0 || node_begins || group_begins) {
        first_.push_back(r);
      }
      of_.push_back(static_cast<std::int32_t>(first_.size()) - 1);
    }
    first_.push_back(batch.ranks());
  }

  [[nodiscard]] std::int32_t nodes() const noexcept { return static_cast<std::int32_t>(first_.size()) - 1; }
  [[nodiscard]] std::int32_t of(rank_id r) const noexcept { return of_[r.index()]; }
  /// The pool's ranks in a node are `[first(n), first(n + 1))`.
  [[nodiscard]] std::int32_t first(std::int32_t node) const noexcept { return first_[static_cast<std::size_t>(node)]; }

 private:
  /// Shape: `[nodes + 1]`, and `[ranks]`.
  std::vector<std::int32_t> first_;
  std::vector<std::int32_t> of_;
};

}  // namespace libra
