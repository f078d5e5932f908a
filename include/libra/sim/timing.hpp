#pragma once

#include <libra/program/ops.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra::sim {

/// When an op ran. Units: picoseconds since the pool's pass began.
struct op_span {
  std::int64_t start_ps{};
  std::int64_t end_ps{};

  [[nodiscard]] constexpr std::int64_t duration_ps() const noexcept { return end_ps - start_ps; }
  friend constexpr bool operator==(op_span const&, op_span const&) = default;
};

/// One direction of a rank's connection to one kind of peer.
enum class port : std::uint8_t { node_send, node_receive, network_send, network_receive };
inline constexpr std::size_t port_count = 4;

/// What a port carried, and for how long it carried anything.
struct port_use {
  std::int64_t bytes{};
  std::int64_t busy_ps{};

  friend constexpr bool operator==(port_use const&, port_use const&) = default;
};

/// What one rank did during one pass.
struct rank_timing {
  std::int64_t end_ps{};            ///< its last op's end
  std::int64_t compute_busy_ps{};   ///< ops of the compute queue, launches and slow-down included
  std::int64_t exchange_busy_ps{};  ///< at least one exchange with another rank under way
  std::array<port_use, port_count> ports{};

  [[nodiscard]] constexpr port_use const& of(port p) const noexcept { return ports[static_cast<std::size_t>(p)]; }
  [[nodiscard]] constexpr std::int64_t bytes_sent() const noexcept {
    return of(port::node_send).bytes + of(port::network_send).bytes;
  }
  [[nodiscard]] constexpr std::int64_t bytes_received() const noexcept {
    return of(port::node_receive).bytes + of(port::network_receive).bytes;
  }
  /// The time without which its ports cannot carry what they carried.
  [[nodiscard]] constexpr std::int64_t wire_ps() const noexcept {
    std::int64_t most = 0;
    for (port_use const& use : ports) {
      most = std::max(most, use.busy_ps);
    }
    return most;
  }
  friend constexpr bool operator==(rank_timing const&, rank_timing const&) = default;
};

/// What one pass of a pool's programs took.
struct pool_timing {
  std::int64_t makespan_ps{};
  /// Shape: `[ranks]`, by rank.
  std::vector<rank_timing> ranks;

  [[nodiscard]] std::int64_t max_compute_busy_ps() const noexcept {
    std::int64_t most = 0;
    for (rank_timing const& r : ranks) {
      most = std::max(most, r.compute_busy_ps);
    }
    return most;
  }
  friend bool operator==(pool_timing const&, pool_timing const&) = default;
};

}  // namespace libra::sim
