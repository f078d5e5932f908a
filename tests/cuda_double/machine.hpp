#pragma once

#include "cuda_double/control.hpp"

#include <libra/core/random.hpp>

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace cuda_double {

/// A step of a stream. `ready` tells whether it can run now; it is asked only at the head of its stream.
struct task {
  std::function<bool()> ready;
  std::function<void()> run;
};

/// One `cudaEventRecord`: whoever waits for the event waits for the last mark made before.
struct mark {
  bool reached{};
};

}  // namespace cuda_double

// The runtime's handles are pointers to these.
struct CUstream_st {
  int device{};
  std::deque<cuda_double::task> tasks;
  bool destroyed{};
};
struct CUevent_st {
  std::shared_ptr<cuda_double::mark> last;
};

namespace cuda_double {

struct allocation {
  std::size_t bytes{};
  int device{};
};

/// All devices, their streams and memory. One lock guards it, also while work runs.
class machine {
 public:
  using lock = std::unique_lock<std::mutex>;

  static machine& instance();
  ~machine() { reset({}); }

  [[nodiscard]] lock hold() { return lock(mutex_); }
  void reset(settings const& wanted);

  /// Fails when work that ran before has been found wrong, as a device does.
  [[nodiscard]] cudaError_t status() const noexcept { return status_; }
  void find(std::string const& text, cudaError_t status);

  [[nodiscard]] cudaStream_t make_stream(int device);
  void destroy(cudaStream_t stream);
  /// Enqueues, and sometimes lets queued work run.
  void enqueue(cudaStream_t stream, task what);

  /// Runs one piece of queued work, drawn at random from what can run. False when nothing can.
  bool step();
  /// Runs queued work, of any stream, until `done`; sleeps while only other threads can bring it about.
  void run_until(lock& held, std::function<bool()> const& done);
  void wake() { changed_.notify_all(); }

  [[nodiscard]] void* allocate(std::size_t bytes, int device);
  void release(void* p);
  [[nodiscard]] std::size_t free_bytes(int device) const;
  /// True when the bytes lie in one allocation.
  [[nodiscard]] bool owns(void const* first, std::size_t bytes) const;
  [[nodiscard]] bool idle(int device) const;

  /// Work that belongs to no stream: transfers between communicators' members.
  std::vector<std::function<void()>>& loose_work() { return loose_work_; }
  [[nodiscard]] std::uint64_t draw(std::uint64_t below) { return bits_.below(below); }

  settings now;
  std::string finding;
  std::set<CUevent_st*> events;
  std::size_t communicators{};
  std::size_t communicators_aborted{};
  int most_ctas{};
  int least_peer_channels{std::numeric_limits<int>::max()};
  std::size_t kernels_launched{};
  [[nodiscard]] std::size_t objects_alive() const;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  libra::random_bits bits_{0};
  cudaError_t status_{cudaSuccess};
  std::vector<std::unique_ptr<CUstream_st>> streams_;
  std::map<std::byte*, allocation> memory_;
  std::vector<std::function<void()>> loose_work_;
};

}  // namespace cuda_double
