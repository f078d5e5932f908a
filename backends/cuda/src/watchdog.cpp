#include "watchdog.hpp"

#include <libra/core/error.hpp>

#include <exception>
#include <utility>

namespace libra::cuda {

watchdog::watchdog(communicator fetch, communicator deliver, int device, std::string who,
                   std::chrono::milliseconds timeout)
    : who_(std::move(who)),
      device_(device),
      timeout_(timeout),
      communicators_{std::move(fetch), std::move(deliver)} {
  thread_ = std::jthread([this](std::stop_token const& stop) { run(stop); });
}

watchdog::~watchdog() {
  thread_.request_stop();
  wake_.notify_all();
  thread_.join();
}

void watchdog::watch(queue on, std::string what, stream_ref in) {
  std::lock_guard const held(guard_);
  throw_if_failed();
  auto& mine = rounds_[static_cast<std::size_t>(on)];
  mine.push_back({std::move(what), event(), clock::now()});
  in.record(mine.back().end);
}

void watchdog::check() {
  std::lock_guard const held(guard_);
  throw_if_failed();
}

void watchdog::abort(std::string_view reason) noexcept {
  std::lock_guard const held(guard_);
  fail(reason);
}

void watchdog::run(std::stop_token const& stop) {
  constexpr auto pause = std::chrono::milliseconds(2);
  static_cast<void>(cudaSetDevice(device_));
  std::unique_lock held(guard_);
  while (!stop.stop_requested()) {
    look(clock::now());
    wake_.wait_for(held, stop, pause, [] { return false; });
  }
}

void watchdog::look(clock::time_point now) {
  if (!failure_.empty()) {
    return;
  }
  std::string current;
  try {
    for (auto& rounds : rounds_) {
      while (!rounds.empty() && rounds.front().end.reached()) {
        rounds.pop_front();
        if (!rounds.empty()) {
          rounds.front().since = now;  // it could not have ended before
        }
      }
      if (rounds.empty()) {
        continue;
      }
      current = current.empty() ? rounds.front().what : current;
      if (now - rounds.front().since > timeout_) {
        fail(message(rounds.front().what, " has not ended within ", timeout_.count(), " ms"));
        return;
      }
    }
    for (communicator const& c : communicators_) {
      ncclResult_t state = ncclSuccess;
      cuda::check(ncclCommGetAsyncError(c.get(), &state), "ncclCommGetAsyncError");
      cuda::check(state, "NCCL");
    }
  } catch (std::exception const& e) {
    fail(current.empty() ? std::string(e.what()) : message(current, ": ", e.what()));
  }
}

void watchdog::fail(std::string_view reason) {
  if (!failure_.empty()) {
    return;
  }
  try {
    failure_ = message(who_, ": ", reason);
  } catch (std::exception const&) {
    failure_ = "out of memory";  // that it failed matters more than why
  }
  for (communicator& c : communicators_) {
    c.abort();
  }
}

void watchdog::throw_if_failed() const {
  if (!failure_.empty()) {
    throw run_error(failure_);
  }
}

}  // namespace libra::cuda
