#pragma once

#include <libra/core/ids.hpp>
#include <libra/program/ops.hpp>
#include <libra/run/bindings.hpp>
#include <libra/run/progress.hpp>
#include <libra/run/strided_rows.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace libra {

/// Rows on their way to another rank of the pool, or to this one.
struct outgoing {
  rank_id to;
  const_rows rows;
};

/// Where rows from another rank of the pool, or from this one, are to be put.
struct incoming {
  rank_id from;
  mutable_rows rows;
};

/// What one rank sends and receives in one round of one channel.
///
/// The i-th send from rank a to rank b is the i-th receive of b from a, and has its size.
struct exchange_round {
  queue channel{};
  std::int32_t round{};
  std::span<outgoing const> sends;
  std::span<incoming const> receives;
};

/// A transport: moves the rows of a round between the ranks of one pool. One object per rank.
///
/// - `start` begins a round and returns a ticket. Sends are read after the kernel work that was issued before. All
/// ranks
///   start the rounds of a channel in the same order, rounds in which they move nothing included, and finish one before
///   they start the next. The views and what they show stay valid, and untouched by the kernel, until the round has
///   finished.
/// - `test` lets rounds progress without blocking and says whether this one has finished; `wait` returns when it has.
///   Kernel work issued later sees what was received, and may overwrite what was sent. A finished ticket stays
///   finished.
/// - `gather` collects the same number of words from every rank, `all` being `[ranks, words]` by rank. It blocks.
/// - `abort` makes the pending and later calls of every rank throw, with this rank and the first such reason in the
/// message.
///   When it returns, no other rank reads or writes memory of this rank's rounds. It may be called more than once.
///
/// Errors: `run_error` naming the channel, the round and the ranks when a send and its receive differ, and when a rank
/// aborted. No call waits for a rank that has failed.
template <class T>
concept transport =
    requires(T& t, T const& c, exchange_round const& round, typename T::ticket& ticket,
             std::span<std::uint64_t const> mine, std::span<std::uint64_t> all, std::string_view reason) {
      requires std::movable<typename T::ticket>;
      { c.rank() } noexcept -> std::same_as<rank_id>;
      { c.ranks() } noexcept -> std::same_as<std::int32_t>;
      { t.start(round) } -> std::same_as<typename T::ticket>;
      { t.test(ticket) } -> std::same_as<bool>;
      { t.wait(ticket) } -> std::same_as<void>;
      { t.gather(mine, all) } -> std::same_as<void>;
      { t.abort(reason) } noexcept -> std::same_as<void>;
    };

/// Memory that a kernel can work on; freed with the object.
template <class M>
concept kernel_memory = std::movable<M> && requires(M const& m) {
  { m.data() } noexcept -> std::same_as<std::byte*>;
};

/// A tile kernel: computes the ops of a rank that need no other rank, each batch in the order given.
///
/// - `element` is the type of q, k, v, o and their gradients, `width` what a plan for this kernel is lowered for;
/// statistics
///   are float.
/// - `allocate` returns at least so many bytes, aligned for any region.
/// - `attend` and `attend_backward` compute tiles (`tile_task`); backward writes dq and adds to dk and dv.
/// - `row_dot` computes delta from d_o and o (`dot_task`); `clear` sets rows to zero.
/// - `reduce` sets each task's region to the sum, in order, of its locations in `partials` (`reduce_task`).
///
/// Work may be asynchronous as long as it keeps its order and the transport follows it. Errors: `run_error` or
/// `input_error` naming what cannot be computed.
template <class K>
concept tile_kernel =
    kernel_memory<typename K::memory> && std::same_as<std::remove_cvref_t<decltype(K::width)>, element_bytes> &&
    (sizeof(typename K::element) == static_cast<std::size_t>(K::width.activation)) &&
    (K::width.statistic == sizeof(float)) &&
    requires(K& kernel, bindings const& at, std::int64_t bytes, std::span<tile_task const> tiles,
             std::span<dot_task const> dots, std::span<region_task const> regions, std::span<reduce_task const> sums,
             std::span<location const> partials) {
      { kernel.allocate(bytes) } -> std::same_as<typename K::memory>;
      { kernel.attend(tiles, at) } -> std::same_as<void>;
      { kernel.attend_backward(tiles, at) } -> std::same_as<void>;
      { kernel.row_dot(dots, at) } -> std::same_as<void>;
      { kernel.clear(regions, at) } -> std::same_as<void>;
      { kernel.reduce(sums, partials, at) } -> std::same_as<void>;
    };

/// A kernel whose work takes the calling thread's time: it calls the hook every few milliseconds while it computes.
template <class K>
concept polling_kernel =
    tile_kernel<K> && requires(K& kernel, bindings const& at, std::span<tile_task const> tiles, progress_hook poll) {
      { kernel.attend(tiles, at, poll) } -> std::same_as<void>;
      { kernel.attend_backward(tiles, at, poll) } -> std::same_as<void>;
    };

/// A backend: a transport and a kernel that belong to one rank and work on the same memory.
template <class B>
concept backend = requires(B& b) {
  { b.transport() } noexcept;
  { b.kernel() } noexcept;
  requires std::is_lvalue_reference_v<decltype(b.transport())> &&
               transport<std::remove_cvref_t<decltype(b.transport())>>;
  requires std::is_lvalue_reference_v<decltype(b.kernel())> && tile_kernel<std::remove_cvref_t<decltype(b.kernel())>>;
};

template <backend B>
using transport_of = std::remove_cvref_t<decltype(std::declval<B&>().transport())>;
template <backend B>
using kernel_of = std::remove_cvref_t<decltype(std::declval<B&>().kernel())>;

/// A backend from two parts, so that a user can bring only one of them.
template <transport Transport, tile_kernel Kernel>
class backend_pair {
 public:
  constexpr backend_pair(Transport transport, Kernel kernel)
      : transport_(std::move(transport)),
        kernel_(std::move(kernel)) {}

  [[nodiscard]] constexpr Transport& transport() noexcept { return transport_; }
  [[nodiscard]] constexpr Kernel& kernel() noexcept { return kernel_; }

 private:
  Transport transport_;
  Kernel kernel_;
};

namespace archetype {

/// The least that satisfies `transport`.
struct transport {
  struct ticket {};
  [[nodiscard]] rank_id rank() const noexcept { return {}; }
  [[nodiscard]] std::int32_t ranks() const noexcept { return 1; }
  ticket start(exchange_round const&) { return {}; }
  bool test(ticket&) { return true; }
  void wait(ticket&) {}
  void gather(std::span<std::uint64_t const>, std::span<std::uint64_t>) {}
  void abort(std::string_view) noexcept {}
};
static_assert(libra::transport<transport>);

/// The least that satisfies `tile_kernel`.
struct kernel {
  struct memory {
    [[nodiscard]] std::byte* data() const noexcept { return nullptr; }
  };
  using element = float;
  static constexpr element_bytes width{4, 4, 4};
  memory allocate(std::int64_t) { return {}; }
  void attend(std::span<tile_task const>, bindings const&) {}
  void attend_backward(std::span<tile_task const>, bindings const&) {}
  void row_dot(std::span<dot_task const>, bindings const&) {}
  void clear(std::span<region_task const>, bindings const&) {}
  void reduce(std::span<reduce_task const>, std::span<location const>, bindings const&) {}
};
static_assert(tile_kernel<kernel>);
static_assert(backend<backend_pair<transport, kernel>>);

}  // namespace archetype
}  // namespace libra
