#pragma once

#include <libra/core/error.hpp>
#include <libra/sample/global_batch.hpp>
#include <libra/sample/state.hpp>

#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

namespace libra {

/// Lets a sampler work ahead on a thread of its own, so that a training step never waits for planning.
///
/// `prepare` is called on that thread with each batch; what it returns is yielded. A rank plans its own pools there.
/// At most `depth` results wait. Every member is for one thread, the caller's. The destructor stops the thread after
/// the batch that it is at. Example: examples/resume.cpp.
template <class Sampler, std::invocable<global_batch&&> Prepare = std::identity>
class prefetch {
 public:
  using value_type = std::remove_cvref_t<std::invoke_result_t<Prepare&, global_batch&&>>;

  /// Errors: `input_error` unless `depth >= 1`.
  explicit prefetch(Sampler sampler, std::size_t depth = 2, Prepare prepare = {})
      : sampler_(std::move(sampler)),
        depth_(depth),
        prepare_(std::move(prepare)),
        yielded_(sampler_.state()) {
    require(depth >= 1, "depth is ", depth, ", expected at least 1");
    start();
  }
  ~prefetch() { stop(); }
  prefetch(prefetch const&) = delete;
  prefetch& operator=(prefetch const&) = delete;

  /// The next result, or nothing at the end of an epoch, as the sampler's `next`.
  ///
  /// Errors: what the sampler or `prepare` threw for this batch. The state is then as it was, and the next call tries
  /// again.
  std::optional<value_type> next() {
    item taken = take();
    if (taken.failure) {
      // The thread ended with the failure.
      restart_from(yielded_);
      std::rethrow_exception(taken.failure);
    }
    yielded_.position = std::move(taken.after);
    return std::move(taken.value);
  }

  /// The state as of the last batch that `next` returned, however far ahead the thread is.
  [[nodiscard]] sampler_state const& state() const noexcept { return yielded_; }

  /// Continues from a state, as the sampler's `restore`; what was prepared is thrown away.
  void restore(sampler_state const& state) { restart_from(state); }

  /// Batches of the current epoch, as the sampler's `size`. Complexity: also prepares again what was prepared.
  /// Errors: those of the sampler; it goes on as if it had not been asked.
  [[nodiscard]] std::int64_t size() {
    stop();
    sampler_.restore(yielded_);
    std::int64_t const batches = sampler_.size();
    start();
    return batches;
  }

 private:
  struct item {
    std::optional<value_type> value;
    sample_position after;
    std::exception_ptr failure;
  };

  item take() {
    // It does not run if `size` threw, or if it could not be started.
    if (!thread_.joinable()) start();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !ready_.empty(); });
    item first = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    return first;
  }

  /// The thread's life: until it is told to stop, or something is thrown.
  void work(std::stop_token const& stopping) {
    bool failed = false;
    while (!failed && has_room(stopping)) {
      item next = make();
      failed = next.failure != nullptr;
      std::scoped_lock const lock(mutex_);
      ready_.push_back(std::move(next));
      changed_.notify_all();
    }
  }
  /// Waits for room in the queue. False when the thread is to stop.
  bool has_room(std::stop_token const& stopping) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stopping, [&] { return ready_.size() < depth_; });
    return !stopping.stop_requested();
  }
  item make() noexcept {
    item made;
    try {
      if (std::optional<global_batch> batch = sampler_.next()) {
        made.value.emplace(prepare_(std::move(*batch)));
      }
      made.after = sampler_.position();
    } catch (...) {
      made.failure = std::current_exception();
    }
    return made;
  }

  void start() {
    thread_ = std::jthread([this](std::stop_token const& stopping) { work(stopping); });
  }
  void stop() {
    if (thread_.joinable()) {
      thread_.request_stop();
      thread_.join();
    }
    ready_.clear();
  }
  void restart_from(sampler_state const& state) {
    stop();
    // If the state is refused, go on from where the caller is.
    try {
      sampler_.restore(state);
      yielded_ = sampler_.state();
    } catch (...) {
      sampler_.restore(yielded_);
      start();
      throw;
    }
    start();
  }

  Sampler sampler_;
  std::size_t depth_;
  Prepare prepare_;
  sampler_state yielded_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<item> ready_;
  std::jthread thread_;
};

}  // namespace libra
