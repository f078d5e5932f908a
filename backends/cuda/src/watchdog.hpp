#pragma once

#include <libra/cuda/communicator.hpp>
#include <libra/cuda/stream.hpp>
#include <libra/program/ops.hpp>

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace libra::cuda {

/// Owns a pool's two communicators and aborts them when one of them fails or a round takes too long.
class watchdog {
 public:
  using clock = std::chrono::steady_clock;

  watchdog(communicator fetch, communicator deliver, int device, std::string who, std::chrono::milliseconds timeout);
  ~watchdog();
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;

  /// Calls `use(communicator)` while nobody aborts it, and waits until NCCL has begun what was asked of it.
  /// Errors: `run_error` when the pool has failed; a failure inside fails it.
  template <class Use>
  void with(queue direction, std::string const& what, Use use) {
    std::lock_guard const held(guard_);
    throw_if_failed();
    try {
      auto* const c = communicators_[direction == queue::deliver ? 1 : 0].get();
      use(c);
      settle(c, what, timeout_);
    } catch (std::exception const& e) {
      fail(what + ": " + e.what());
      throw_if_failed();
    }
  }
  /// From now on the watchdog waits for all that the stream holds, under this name.
  void watch(queue on, std::string what, stream_ref in);

  void check();
  void abort(std::string_view reason) noexcept;

 private:
  struct watched {
    std::string what;
    event end;
    clock::time_point since;
  };

  void run(std::stop_token const& stop);
  void look(clock::time_point now);
  void fail(std::string_view reason);
  void throw_if_failed() const;

  std::string who_;
  int device_;
  std::chrono::milliseconds timeout_;
  std::mutex guard_;
  std::condition_variable_any wake_;
  std::array<communicator, 2> communicators_;
  std::array<std::deque<watched>, queue_count> rounds_;
  std::string failure_;
  std::jthread thread_;
};

}  // namespace libra::cuda
