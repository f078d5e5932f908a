#pragma once

#include <libra/core/ids.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace libra::host {

namespace detail {
class hub;
}

struct rank_group_options {
  /// A rank that has waited so long without anything arriving fails the group.
  std::chrono::milliseconds timeout{std::chrono::minutes(10)};
};

/// The ranks of one pool as threads of one process: what their transports meet in.
///
/// A failure of one rank fails the group for good: every other rank throws its message instead of waiting for it.
class rank_group {
 public:
  /// Errors: `input_error` unless `ranks >= 1` and the timeout is at least one millisecond.
  explicit rank_group(std::int32_t ranks, rank_group_options const& options = {});
  ~rank_group();
  rank_group(rank_group&&) noexcept;
  rank_group& operator=(rank_group&&) noexcept;
  rank_group(rank_group const&) = delete;
  rank_group& operator=(rank_group const&) = delete;

  [[nodiscard]] std::int32_t size() const noexcept;
  [[nodiscard]] bool failed() const;

 private:
  friend class transport;
  friend void run_ranks(rank_group& group, std::function<void(rank_id)> const& body);

  std::unique_ptr<detail::hub> hub_;
};

/// Calls `body(rank)` for every rank of the group, each on a thread of its own, and joins them.
///
/// Errors: what the first rank to fail threw; it has made the others fail too. A rank that returns while another waits
/// for it is a failure of the one that waits.
void run_ranks(rank_group& group, std::function<void(rank_id)> const& body);

}  // namespace libra::host
