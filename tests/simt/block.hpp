#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace simt {

/// A kernel that no device could run to its end: threads of a block that wait at different places.
class diagnosis : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

struct extent3 {
  unsigned x{1};
  unsigned y{1};
  unsigned z{1};

  [[nodiscard]] constexpr unsigned count() const noexcept { return x * y * z; }
};

/// How a kernel is started. The order of blocks and of the threads in them follows from the seed.
struct launch_shape {
  extent3 grid;
  extent3 block;
  std::size_t shared_bytes{};
  std::uint64_t seed{};
};

/// Runs a kernel on the calling thread: `kernel` is called once for every thread of every block.
///
/// Threads are fibers; which of those that can run goes next is drawn at random wherever one waits. Shared memory is as
/// long as asked for to the byte, and full of NaN at the start of a block.
/// Errors: `diagnosis` when a barrier is not reached by all threads of its block, or a warp operation by all of its
/// warp, at the same call; and what the kernel throws.
void launch(launch_shape const& shape, std::function<void()> const& kernel);

inline constexpr unsigned warp_threads = 32;

/// Where a kernel has a barrier: the file without its folder, and the line.
using barrier_site = std::pair<std::string, unsigned>;

/// The barriers, of blocks and of warps, that kernels have come by since the last call.
[[nodiscard]] std::set<barrier_site> take_barriers_seen();
/// From now on kernels run through this barrier as if it were not there; until it is given back with nothing.
/// Pre: no kernel is running.
void remove_barrier(std::optional<barrier_site> const& site);

// What follows is for kernels only: each call belongs to the emulated thread that makes it.

[[nodiscard]] extent3 thread_index();
[[nodiscard]] extent3 block_index();
[[nodiscard]] extent3 block_extent();
[[nodiscard]] extent3 grid_extent();
/// The block's dynamic shared memory.
[[nodiscard]] std::byte* shared_memory();
/// Number of the thread in its warp.
[[nodiscard]] unsigned lane();

/// Waits for all threads of the block, which must come by the same call.
void block_barrier(std::source_location const& at);
/// Waits for all lanes of the warp.
void warp_barrier(std::source_location const& at);

namespace detail {

inline constexpr std::size_t most_exchanged_bytes = 64;
using exchanged = std::array<std::byte, most_exchanged_bytes>;

/// Publishes this lane's bytes, waits for the warp, and returns what its lanes have published.
///
/// The result is valid until this lane's second next exchange.
[[nodiscard]] exchanged const* exchange(void const* mine, std::size_t bytes, std::source_location const& at);

}  // namespace detail

/// What all lanes of the warp pass, by lane.
template <class T>
[[nodiscard]] std::array<T, warp_threads> exchange(T const& mine, std::source_location const& at) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= detail::most_exchanged_bytes);
  detail::exchanged const* const published = detail::exchange(&mine, sizeof(T), at);
  std::array<T, warp_threads> all;
  for (unsigned l = 0; l < warp_threads; ++l) {
    std::memcpy(&all[l], published[l].data(), sizeof(T));
  }
  return all;
}

/// Begins to copy, at any time between now and `wait_copies`.
void copy_async(void* to, void const* from, std::size_t bytes);
/// Makes what was begun since the last call one group.
void commit_copies();
/// Returns when all but the last `pending` groups of this thread have been copied.
void wait_copies(unsigned pending);

}  // namespace simt
