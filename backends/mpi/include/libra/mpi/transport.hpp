#pragma once

#include <libra/run/concept.hpp>

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace libra::mpi {

namespace detail {

class link;

/// Frees a link, or keeps what a message that is under way may still touch.
struct retire {
  void operator()(link* l) const noexcept;
};

}  // namespace detail

struct transport_options {
  /// A call that has waited so long without anything arriving fails, and the pool with it.
  std::chrono::milliseconds timeout{std::chrono::minutes(10)};
};

/// Moves rows between processes: one message per round and pair of ranks that have something for each other.
///
/// Rows are packed into the message when the round starts and unpacked when it has arrived, so that no other process
/// ever touches the tensors. The buffers grow to the largest round and are kept. Messages travel while `test` and
/// `wait` are called; nothing else progresses them.
/// A rank that aborts tells every other rank, which hears it in its next call, waiting ones included.
class transport {
 public:
  class ticket {
   public:
    ticket() = default;

   private:
    friend class transport;
    ticket(queue channel, std::int64_t sequence) noexcept : channel_(channel), sequence_(sequence) {}
    queue channel_{};
    /// Number of the round on its channel; negative when it has finished.
    std::int64_t sequence_{-1};
  };

  /// The ranks are those of `pool`, in its order. The communicator stays the caller's: its messages and these do not
  /// mix, because the transport works on a duplicate. All ranks of `pool` call it.
  ///
  /// Pre: MPI is initialised and this thread may call it. Errors: `input_error` for a communicator that is null or a
  /// timeout below one millisecond; `run_error` with MPI's text.
  explicit transport(MPI_Comm pool, transport_options const& options = {});

  [[nodiscard]] rank_id rank() const noexcept;
  [[nodiscard]] std::int32_t ranks() const noexcept;
  [[nodiscard]] ticket start(exchange_round const& round);
  [[nodiscard]] bool test(ticket& t);
  void wait(ticket& t);
  void gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all);
  void abort(std::string_view reason) noexcept;

 private:
  std::unique_ptr<detail::link, detail::retire> link_;
};
static_assert(libra::transport<transport>);

}  // namespace libra::mpi
