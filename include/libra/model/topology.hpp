#pragma once

#include <libra/core/error.hpp>

#include <cstdint>

namespace libra {

/// What connects the ranks: nodes of consecutive ranks, and a send and a receive port per rank.
///
/// Units: bytes per second and direction of one rank, picoseconds per exchange round.
struct topology {
  std::int32_t ranks_per_node{8};
  std::int64_t node_bytes_per_second{400'000'000'000};
  std::int64_t network_bytes_per_second{48'000'000'000};
  std::int64_t node_latency_ps{10'000'000};
  std::int64_t network_latency_ps{25'000'000};

  friend constexpr bool operator==(topology const&, topology const&) = default;
};

/// Errors: `input_error` naming the first field that is out of range.
constexpr void validate(topology const& t) {
  require(t.ranks_per_node >= 1, "ranks_per_node is ", t.ranks_per_node, ", expected at least 1");
  require(t.node_bytes_per_second >= 1, "node_bytes_per_second is ", t.node_bytes_per_second, ", expected at least 1");
  require(t.network_bytes_per_second >= 1, "network_bytes_per_second is ", t.network_bytes_per_second,
          ", expected at least 1");
  require(t.node_latency_ps >= 0, "node_latency_ps is ", t.node_latency_ps, ", expected at least 0");
  require(t.network_latency_ps >= 0, "network_latency_ps is ", t.network_latency_ps, ", expected at least 0");
}

}  // namespace libra
