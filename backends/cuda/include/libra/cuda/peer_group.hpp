#pragma once

#include <libra/core/ids.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace libra::cuda {

namespace detail {
class peer_hub;
}

/// The ranks of one pool as threads of one process, each with a device: all the same one, or several that reach each
/// other's memory.
///
/// A failure of one rank fails the group for good: every other rank throws its message instead of waiting for it.
class peer_group {
 public:
  /// All ranks on one device. Errors: `input_error` unless `ranks >= 1`.
  explicit peer_group(std::int32_t ranks, int device = 0);
  /// Rank r on `devices[r]`. Errors: `cuda::error` when two of them cannot reach each other's memory.
  explicit peer_group(std::span<int const> devices);
  ~peer_group();
  peer_group(peer_group&&) noexcept;
  peer_group& operator=(peer_group&&) noexcept;
  peer_group(peer_group const&) = delete;
  peer_group& operator=(peer_group const&) = delete;

  [[nodiscard]] std::int32_t size() const noexcept;
  [[nodiscard]] int device_of(rank_id rank) const;
  [[nodiscard]] bool failed() const;

 private:
  friend class peer_exchange;
  friend void run_ranks(peer_group& group, std::function<void(rank_id)> const& body);

  std::unique_ptr<detail::peer_hub> hub_;
  std::vector<int> devices_;
};

/// Calls `body(rank)` for every rank of the group, each on a thread of its own with the rank's device, and joins them.
///
/// Errors: what the first rank to fail threw; it has made the others fail too. A rank that returns while another waits
/// for it is a failure of the one that waits.
void run_ranks(peer_group& group, std::function<void(rank_id)> const& body);

}  // namespace libra::cuda
