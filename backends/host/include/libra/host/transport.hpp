#pragma once

#include <libra/host/rank_group.hpp>
#include <libra/run/concept.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace libra::host {

/// Moves rows between the threads of a `rank_group` by copying them once, from where they are to where they belong.
///
/// A copy is made by the first of its two ranks that tests or waits after both have started the round; nobody polls.
/// Errors: as the concept says; and when all ranks wait for one another, or for a rank that has left `run_ranks`.
class transport {
 public:
  class ticket {
   public:
    ticket() = default;

   private:
    friend class transport;
    ticket(queue channel, std::int64_t sequence) noexcept : channel_(channel), sequence_(sequence) {}
    queue channel_{};
    /// Number of the round since the group began; negative when it has finished.
    std::int64_t sequence_{-1};
  };

  /// Pre: `group` outlives the transport; one transport per rank. Errors: `input_error` when the group has no such
  /// rank.
  transport(rank_group& group, rank_id rank);

  [[nodiscard]] rank_id rank() const noexcept { return rank_; }
  [[nodiscard]] std::int32_t ranks() const noexcept;
  [[nodiscard]] ticket start(exchange_round const& round);
  [[nodiscard]] bool test(ticket& t);
  void wait(ticket& t);
  void gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all);
  void abort(std::string_view reason) noexcept;

 private:
  detail::hub* hub_;
  rank_id rank_;
};
static_assert(libra::transport<transport>);

}  // namespace libra::host
