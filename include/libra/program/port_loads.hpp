#pragma once

#include <libra/core/ids.hpp>
#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra::detail {

/// What one round sends (or receives) through the network port of each rank, and who of a node could carry how much of
/// it for others.
///
/// The rows of a long document lie on few ranks. What their ports have above the mean of their node passes through the
/// ports of neighbours, to which links inside the node carry it.
class port_loads {
 public:
  /// `least_bytes`: a surplus up to that many bytes is not worth it.
  port_loads(node_map const& nodes, std::int64_t least_bytes) : nodes_(nodes), least_bytes_(least_bytes) {}

  void clear() {
    load_.assign(static_cast<std::size_t>(nodes_.first(nodes_.nodes())), 0);
    surplus_.assign(load_.size(), 0);
    room_.assign(load_.size(), 0);
    next_.assign(static_cast<std::size_t>(nodes_.nodes()), 0);
  }
  void add(rank_id r, std::int64_t bytes) { load_[r.index()] += bytes; }

  /// Compares the ranks of each node. Pre of `cut`: everything was added.
  void close() {
    for (std::int32_t n = 0; n < nodes_.nodes(); ++n) {
      std::int64_t total = 0;
      for (auto r = first(n); r < first(n + 1); ++r) {
        total += load_[r];
      }
      auto const ranks = static_cast<std::int64_t>(first(n + 1) - first(n));
      std::int64_t const mean = ranks == 0 ? 0 : (total + ranks - 1) / ranks;
      for (auto r = first(n); r < first(n + 1); ++r) {
        std::int64_t const above = load_[r] - mean;
        surplus_[r] = above > std::max(least_bytes_, mean / 8) ? above : 0;
        room_[r] = std::max<std::int64_t>(0, -above);
      }
      next_[static_cast<std::size_t>(n)] = first(n);
    }
  }

  /// Calls `part(through, range)` for parts of `tokens`, in order: those that pass through neighbours' ports and the
  /// rest, through `home`'s own. `bytes`: of one token.
  template <class Part>
  void cut(rank_id home, row_range tokens, std::int64_t bytes, Part part) {
    auto const node = static_cast<std::size_t>(nodes_.of(home));
    std::size_t const end = first(nodes_.of(home) + 1);
    std::int64_t& surplus = surplus_[home.index()];
    std::size_t& next = next_[node];
    while (tokens.size() > 0 && surplus >= bytes) {
      while (next < end && room_[next] < bytes) {
        ++next;
      }
      if (next == end) {
        break;
      }
      std::int64_t const count = std::min({tokens.size(), surplus / bytes, room_[next] / bytes});
      part(rank_id(next), row_range{tokens.begin, tokens.begin + count});
      tokens.begin += count;
      surplus -= count * bytes;
      room_[next] -= count * bytes;
    }
    if (tokens.size() > 0) {
      part(home, tokens);
    }
  }

 private:
  [[nodiscard]] std::size_t first(std::int32_t node) const { return static_cast<std::size_t>(nodes_.first(node)); }

  node_map const& nodes_;
  std::int64_t least_bytes_;
  /// Shape: `[ranks]`.
  std::vector<std::int64_t> load_;
  std::vector<std::int64_t> surplus_;
  std::vector<std::int64_t> room_;
  /// Shape: `[nodes]`. The first rank that may have room.
  std::vector<std::size_t> next_;
};

}  // namespace libra::detail
