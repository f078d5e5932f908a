#pragma once

#include <libra/cuda/communicator.hpp>
#include <libra/cuda/context.hpp>
#include <libra/cuda/exchange.hpp>
#include <libra/cuda/kernel.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace libra::cuda {

/// Moves rows between processes, or threads with a device each, by NCCL.
///
/// A round gathers what goes to all peers into one buffer, sends and receives one message per peer in one group, and
/// scatters what came: one kernel each. Two communicators, one per direction, so that rounds of one never wait for the
/// other's; each channel's rounds begin in the order of the program. A watchdog watches over every round: when NCCL
/// reports an error or a round takes longer than the options allow, it aborts both communicators, and every later call
/// and `check` throw, naming the round.
/// Errors: `run_error` naming the rank, the round and the ranks that it was with. What another rank has thrown does not
/// travel; a pool whose rank has failed fails by time-out.
class nccl_exchange {
 public:
  class prepared;

  /// Joins the ranks of two communicators of the same pool, in its order of ranks; both are this exchange's from now
  /// on.
  ///
  /// Pre: `in` outlives the exchange. Errors: `input_error` when the two differ in ranks.
  nccl_exchange(communicator fetch, communicator deliver, context& in, communicator_options const& options = {});
  ~nccl_exchange();
  nccl_exchange(nccl_exchange&&) noexcept;
  nccl_exchange& operator=(nccl_exchange&&) noexcept;
  nccl_exchange(nccl_exchange const&) = delete;
  nccl_exchange& operator=(nccl_exchange const&) = delete;

  [[nodiscard]] rank_id rank() const noexcept;
  [[nodiscard]] std::int32_t ranks() const noexcept;
  [[nodiscard]] context& in() noexcept;

  [[nodiscard]] prepared prepare(op const& what, program const& of, attention_shape const& shape,
                                 element_bytes const& width);
  void enqueue(exchange_round const& round, prepared const* ready, parameter_block const* at);
  bool finish(queue on, bool block);
  void gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all);
  void check();
  void abort(std::string_view reason) noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Where the rows of a round are in its two wire buffers, and in memory.
class nccl_exchange::prepared {
 public:
  prepared() noexcept;
  ~prepared();
  prepared(prepared&&) noexcept;
  prepared& operator=(prepared&&) noexcept;
  prepared(prepared const&) = delete;
  prepared& operator=(prepared const&) = delete;

 private:
  friend class nccl_exchange;
  struct lists;
  std::unique_ptr<lists> lists_;
};
static_assert(stream_exchange<nccl_exchange>);

}  // namespace libra::cuda
