#pragma once

#include <libra/core/wide.hpp>
#include <libra/plan/plan.hpp>

#include <cstdint>

namespace libra {

/// What a pool's programs move and keep, for one layer, forward and backward.
struct pool_traffic {
  std::int64_t max_bytes_sent{};      ///< the rank that sends most
  std::int64_t max_bytes_received{};  ///< the rank that receives most
  int128 total_bytes_sent{};          ///< all ranks
  std::int64_t workspace_bytes{};     ///< the largest workspace of a rank in either pass
};

/// The part of a pool's forward pass that needs no exchange: tiles computed where their rows and keys live.
struct pool_locality {
  int128 local_rows{};  ///< query rows times query heads
  int128 rows{};
  int128 local_work{};
  int128 work{};
};

/// Complexity: linear in the programs' transfers. Copies inside a rank are not traffic.
[[nodiscard]] pool_traffic traffic_of(pool_plan const& plan);

}  // namespace libra
