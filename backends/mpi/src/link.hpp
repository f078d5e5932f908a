#pragma once

#include "lane.hpp"

#include <libra/core/ids.hpp>
#include <libra/mpi/transport.hpp>
#include <libra/run/concept.hpp>

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace libra::mpi::detail {

/// One rank's end of a pool's exchanges: its lanes, and what it has heard of failures.
class link {
 public:
  link(MPI_Comm pool, transport_options const& options);
  ~link();
  link(link const&) = delete;
  link& operator=(link const&) = delete;

  [[nodiscard]] rank_id rank() const noexcept { return rank_id(with_.rank); }
  [[nodiscard]] std::int32_t ranks() const noexcept { return with_.ranks; }
  /// True when no message of this rank is under way and no rank is known to have failed.
  [[nodiscard]] bool at_rest() const noexcept;

  std::int64_t start(exchange_round const& what);
  bool advance(queue in, std::int64_t sequence, bool block);
  void gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all);
  void abort(std::string_view reason) noexcept;

 private:
  using clock = std::chrono::steady_clock;

  [[nodiscard]] lane& on(queue q) noexcept { return q == queue::fetch ? fetch_ : deliver_; }
  void listen();
  bool finish(lane& l, bool block);
  void fail(std::int32_t rank, std::string_view reason) noexcept;
  void tell_others() noexcept;
  /// Hears of other ranks' failures and throws if any rank has failed.
  void throw_if_failed();
  /// Runs `body`; a failure inside is told to the other ranks before it is thrown on.
  template <class Body>
  auto guarded(Body body);

  surroundings with_;
  std::chrono::milliseconds timeout_;
  lane fetch_;
  lane deliver_;
  lane gather_;
  std::vector<outgoing> to_all_;
  std::vector<incoming> from_all_;

  static constexpr std::size_t longest_reason = 2000;  // short enough to travel without the receiver's help
  MPI_Request ear_{MPI_REQUEST_NULL};
  std::array<char, longest_reason> heard_{};
  std::array<char, longest_reason> said_{};
  std::vector<MPI_Request> telling_;
  std::int32_t failed_{-1};
  std::string reason_;
};

}  // namespace libra::mpi::detail
