#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cuda_double {

/// What the double of the CUDA runtime pretends to be.
struct settings {
  /// Decides in which order queued work runs, wherever streams and events leave a choice.
  std::uint64_t seed{};
  int devices{8};
  std::size_t memory_bytes{std::size_t{1} << 30};  ///< per device
  bool peer_access{true};                          ///< devices reach each other's memory
};

/// Starts afresh. Pre: no stream, event, memory or communicator of before is in use.
void reset(settings const& wanted);

/// What was found wrong with the work that ran since `reset`; empty when nothing was. Such a finding also makes the
/// calls of the runtime fail.
[[nodiscard]] std::string finding();

/// Kernels that were enqueued since `reset`.
[[nodiscard]] std::size_t kernels_launched();

/// Communicators that were aborted since `reset`.
[[nodiscard]] std::size_t communicators_aborted();

/// The most blocks of a device that a communicator which was made since `reset` may take.
[[nodiscard]] int most_ctas();
/// The fewest channels to a rank of another node that a communicator which was made since `reset` asked for.
[[nodiscard]] int least_peer_channels();

/// Every communicator reports from now on that it has lost another rank.
void break_connections();

/// Streams, events, allocations and communicators that have not been destroyed, after all queued work has run.
[[nodiscard]] std::size_t objects_alive();

}  // namespace cuda_double
