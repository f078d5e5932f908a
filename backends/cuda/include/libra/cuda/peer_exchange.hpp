#pragma once

#include <libra/cuda/exchange.hpp>
#include <libra/cuda/peer_group.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace libra::cuda {

/// Moves rows between the ranks of a `peer_group` by copies from where they are to where they belong, on the receiver's
/// stream.
///
/// Ranks meet on the host to begin a round; the devices wait for one another by events only.
/// Errors: as `libra::transport` says; and when all ranks wait for one another, or for a rank that has left
/// `run_ranks`.
class peer_exchange {
 public:
  struct prepared {};

  /// Pre: `group` and `in` outlive the exchange, `in` is of the group's device for the rank. Errors: `input_error` when
  /// the group has no such rank.
  peer_exchange(peer_group& group, rank_id rank, context& in);

  [[nodiscard]] rank_id rank() const noexcept { return rank_; }
  [[nodiscard]] std::int32_t ranks() const noexcept;
  [[nodiscard]] context& in() noexcept { return *in_; }

  [[nodiscard]] prepared prepare(op const&, program const&, attention_shape const&, element_bytes const&) const {
    return {};
  }
  void enqueue(exchange_round const& round, prepared const* ready, parameter_block const* at);
  bool finish(queue on, bool block);
  void gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all);
  void check();
  void abort(std::string_view reason) noexcept;

 private:
  detail::peer_hub* hub_;
  rank_id rank_;
  context* in_;
};
static_assert(stream_exchange<peer_exchange>);

}  // namespace libra::cuda
