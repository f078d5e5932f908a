#pragma once

#include <libra/cuda/context.hpp>
#include <libra/cuda/kernel.hpp>
#include <libra/program/ops.hpp>
#include <libra/run/concept.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace libra::cuda {

/// Moves the rows of rounds in the order of the channels' streams. One object per rank.
///
/// - `prepare` does once per plan what a round needs on the device;
/// - `enqueue` begins a round after what is on the channel's stream, `prepared` being null for a round that was not;
/// - `finish` sees to it that what is enqueued on the channel's stream from now on finds the round finished on both
///   sides; it may wait for other ranks to begin it, but not for devices. Without `block` it returns false instead;
/// - `check` throws when the pool has failed; `abort` is as for `libra::transport`.
template <class E>
concept stream_exchange =
    std::movable<E> &&
    requires(E& e, E const& c, op const& what, program const& of, attention_shape const& shape,
             exchange_round const& round, typename E::prepared const* ready, parameter_block const* at,
             std::span<std::uint64_t const> mine, std::span<std::uint64_t> all, std::string_view reason) {
      { c.rank() } noexcept -> std::same_as<rank_id>;
      { c.ranks() } noexcept -> std::same_as<std::int32_t>;
      { e.in() } noexcept -> std::same_as<context&>;
      { e.prepare(what, of, shape, element_bytes{}) } -> std::same_as<typename E::prepared>;
      { e.enqueue(round, ready, at) } -> std::same_as<void>;
      { e.finish(queue::fetch, true) } -> std::same_as<bool>;
      { e.gather(mine, all) } -> std::same_as<void>;
      { e.check() } -> std::same_as<void>;
      { e.abort(reason) } noexcept -> std::same_as<void>;
    };

/// A `libra::transport` from a stream exchange: rounds follow the kernels that were enqueued before them, and the
/// kernels enqueued after a wait follow the round. No call waits for a device.
template <stream_exchange Exchange>
class stream_transport {
 public:
  class ticket {
   public:
    ticket() = default;

   private:
    friend class stream_transport;
    explicit ticket(queue on) noexcept : on_(on), open_(true) {}
    queue on_{};
    bool open_{};
  };

  explicit stream_transport(Exchange exchange) : exchange_(std::move(exchange)) {}

  [[nodiscard]] rank_id rank() const noexcept { return std::as_const(exchange_).rank(); }
  [[nodiscard]] std::int32_t ranks() const noexcept { return std::as_const(exchange_).ranks(); }

  [[nodiscard]] ticket start(exchange_round const& round) {
    context& in = exchange_.in();
    event const& mark = begun_[static_cast<std::size_t>(round.channel)];
    in.compute().record(mark);
    in.on(round.channel).wait(mark);
    exchange_.enqueue(round, nullptr, nullptr);
    return ticket(round.channel);
  }
  [[nodiscard]] bool test(ticket& t) {
    if (t.open_ && exchange_.finish(t.on_, false)) {
      join(t);
    }
    return !t.open_;
  }
  void wait(ticket& t) {
    if (t.open_) {
      exchange_.finish(t.on_, true);
      join(t);
    }
  }
  void gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all) { exchange_.gather(mine, all); }
  void abort(std::string_view reason) noexcept { exchange_.abort(reason); }

  [[nodiscard]] Exchange& exchange() noexcept { return exchange_; }

 private:
  void join(ticket& t) {
    context& in = exchange_.in();
    event const& mark = ended_[static_cast<std::size_t>(t.on_)];
    in.on(t.on_).record(mark);
    in.compute().wait(mark);
    t.open_ = false;
  }

  Exchange exchange_;
  std::array<event, queue_count> begun_;
  std::array<event, queue_count> ended_;
};

}  // namespace libra::cuda
