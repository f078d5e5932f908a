#include "simt/block.hpp"

#include "simt/fiber.hpp"

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace simt {

namespace {

using libra::message;

constexpr std::align_val_t shared_alignment{128};

struct free_shared {
  void operator()(std::byte* p) const noexcept { ::operator delete(p, shared_alignment); }
};

struct pending_copy {
  void* to{};
  void const* from{};
  std::size_t bytes{};
};

struct thread {
  fiber own;
  extent3 index{};
  std::exception_ptr thrown;
  unsigned exchanges{};
  std::deque<std::vector<pending_copy>> copies;
};

/// Where the threads of a block, or of a warp, wait for one another: all by the same call.
struct meeting {
  unsigned members{};
  unsigned arrived{};
  unsigned returned{};
  unsigned first{};  ///< the thread that arrived first
  std::source_location at;

  void begin(unsigned count) { *this = {.members = count, .arrived = 0, .returned = 0, .first = 0, .at = {}}; }
};

struct warp {
  meeting all;
  unsigned at_block_barrier{};
  std::array<std::array<detail::exchanged, warp_threads>, 2> slots;
};

[[nodiscard]] bool same_place(std::source_location const& a, std::source_location const& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

[[nodiscard]] barrier_site site_of(std::source_location const& at) {
  std::string_view file = at.file_name();
  file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
  return {std::string(file), at.line()};
}
[[nodiscard]] std::string name_of(std::source_location const& at) {
  auto const [file, line] = site_of(at);
  return message(file, ":", line);
}

/// What kernels of all threads have come by, and what they are to run through.
struct barriers {
  std::mutex guard;
  std::set<barrier_site> seen;
  std::optional<barrier_site> removed;

  /// True when the barrier is there.
  bool visit(std::source_location const& at) {
    std::lock_guard const held(guard);
    barrier_site const site = site_of(at);
    seen.insert(site);
    return site != removed;
  }
};

barriers all_barriers;

/// A barrier is looked up once per launch and place.
class visited_barriers {
 public:
  [[nodiscard]] bool is_there(std::source_location const& at) {
    for (auto const& [place, there] : known_) {
      if (same_place(place, at)) {
        return there;
      }
    }
    return known_.emplace_back(at, all_barriers.visit(at)).second;
  }

 private:
  std::vector<std::pair<std::source_location, bool>> known_;
};

void perform(std::vector<pending_copy>& group) {
  for (pending_copy const& c : group) {
    std::memcpy(c.to, c.from, c.bytes);
  }
  group.clear();
}

/// One block at a time, on one operating-system thread.
class block_runner {
 public:
  block_runner(launch_shape const& shape, std::function<void()> const& kernel)
      : shape_(shape),
        kernel_(kernel),
        bits_(shape.seed),
        shared_(
            static_cast<std::byte*>(::operator new(std::max<std::size_t>(shape.shared_bytes, 1), shared_alignment))),
        warps_((shape.block.count() + warp_threads - 1) / warp_threads) {
    while (threads().size() < shape.block.count()) {
      threads().push_back(std::make_unique<thread>());
    }
  }

  void run(extent3 index) {
    index_ = index;
    // All bits set are NaN in every element type.
    std::memset(shared_.get(), 0xff, shape_.shared_bytes);
    unsigned const count = shape_.block.count();
    live_ = count;
    ready_.clear();
    all_.begin(count);
    for (unsigned w = 0; w < warps_.size(); ++w) {
      warps_[w].all.begin(std::min(warp_threads, count - w * warp_threads));
      warps_[w].at_block_barrier = 0;
    }
    for (unsigned t = 0; t < count; ++t) {
      thread& mine = *threads()[t];
      mine.index = {t % shape_.block.x, t / shape_.block.x % shape_.block.y, t / (shape_.block.x * shape_.block.y)};
      mine.thrown = nullptr;
      mine.exchanges = 0;
      mine.copies.assign(1, {});
      mine.own.start(&block_runner::thread_body, this);
      ready_.push_back(t);
    }
    while (live_ > 0) {
      if (ready_.empty()) {
        throw diagnosis(message(place(), describe_stall()));
      }
      step();
    }
  }

  [[nodiscard]] launch_shape const& shape() const noexcept { return shape_; }
  [[nodiscard]] extent3 index() const noexcept { return index_; }
  [[nodiscard]] thread& current() { return *threads()[current_]; }
  [[nodiscard]] unsigned current_number() const noexcept { return current_; }
  [[nodiscard]] std::byte* shared() const noexcept { return shared_.get(); }
  [[nodiscard]] visited_barriers& barriers() noexcept { return barriers_; }
  [[nodiscard]] bool toss() { return bits_.below(2) == 0; }

  void block_barrier(std::source_location const& at) {
    warp& w = own_warp();
    if (w.all.arrived > 0) {
      fail_apart(at, w.all, "a barrier of the block and an operation of the warp");
    }
    ++w.at_block_barrier;
    if (arrive(all_, at, "a barrier needs all threads of the block")) {
      for (warp& each : warps_) {
        each.at_block_barrier = 0;
      }
      release(0, all_.members);
    }
    fiber::yield();
  }

  detail::exchanged const* exchange(void const* mine, std::size_t bytes, std::source_location const& at) {
    warp& w = own_warp();
    if (w.at_block_barrier > 0) {
      fail_apart(at, all_, "an operation of the warp and a barrier of the block");
    }
    // Two buffers in turn: nobody can begin the next but one exchange before all have read this one.
    auto& slots = w.slots[current().exchanges++ % 2];
    std::memcpy(slots[current_ % warp_threads].data(), mine, bytes);
    if (arrive(w.all, at, "a warp operation needs all lanes of the warp")) {
      unsigned const first = current_ / warp_threads * warp_threads;
      release(first, first + w.all.members);
    }
    fiber::yield();
    return slots.data();
  }

 private:
  /// Fibers are kept from launch to launch: their stacks are most of a launch's cost.
  static std::vector<std::unique_ptr<thread>>& threads() {
    thread_local std::vector<std::unique_ptr<thread>> all;
    return all;
  }

  static void thread_body(void* self) {
    auto* const runner = static_cast<block_runner*>(self);
    thread& mine = runner->current();
    try {
      runner->kernel_();
    } catch (...) {
      mine.thrown = std::current_exception();
    }
    for (auto& group : mine.copies) {
      perform(group);
    }
  }

  void step() {
    std::size_t const pick = bits_.below(ready_.size());
    current_ = ready_[pick];
    ready_[pick] = ready_.back();
    ready_.pop_back();
    thread& t = current();
    t.own.resume();
    if (t.thrown) {
      std::rethrow_exception(t.thrown);
    }
    if (t.own.finished()) {
      --live_;
      leave(all_);
      leave(own_warp().all);
    }
  }

  [[nodiscard]] warp& own_warp() { return warps_[current_ / warp_threads]; }

  /// Nobody may return while others wait for all.
  void leave(meeting& m) {
    ++m.returned;
    if (m.arrived > 0) {
      throw diagnosis(
          message(place(), "thread ", current_, " has returned, thread ", m.first, " waits for it at ", name_of(m.at)));
    }
  }

  /// True when the last has come.
  [[nodiscard]] bool arrive(meeting& m, std::source_location const& at, std::string_view rule) {
    if (m.arrived == 0) {
      m.first = current_;
      m.at = at;
    } else if (!same_place(m.at, at)) {
      fail_apart(at, m, rule);
    }
    if (m.returned > 0) {
      throw diagnosis(
          message(place(), "thread ", current_, " waits at ", name_of(at), " for a thread that has returned; ", rule));
    }
    if (++m.arrived < m.members) {
      return false;
    }
    m.arrived = 0;
    return true;
  }

  [[noreturn]] void fail_apart(std::source_location const& at, meeting const& m, std::string_view rule) const {
    throw diagnosis(message(place(), "thread ", current_, " waits at ", name_of(at), ", thread ", m.first, " at ",
                            name_of(m.at), ": ", rule));
  }

  void release(unsigned first, unsigned last) {
    for (unsigned t = first; t < last; ++t) {
      ready_.push_back(t);
    }
  }

  [[nodiscard]] std::string describe_stall() const {
    for (warp const& w : warps_) {
      if (w.all.arrived > 0) {
        return message("no thread can go on, thread ", w.all.first, " waits at ", name_of(w.all.at));
      }
    }
    return message("no thread can go on, thread ", all_.first, " waits at ", name_of(all_.at));
  }

  [[nodiscard]] std::string place() const {
    return message("block (", index_.x, ", ", index_.y, ", ", index_.z, "): ");
  }

  launch_shape shape_;
  std::function<void()> const& kernel_;
  libra::random_bits bits_;
  std::unique_ptr<std::byte, free_shared> shared_;
  std::vector<warp> warps_;
  visited_barriers barriers_;
  std::vector<unsigned> ready_;
  meeting all_;
  extent3 index_{};
  unsigned current_{};
  unsigned live_{};
};

thread_local block_runner* active = nullptr;

/// `count` numbers in random order.
[[nodiscard]] std::vector<unsigned> shuffled(unsigned count, std::uint64_t seed) {
  std::vector<unsigned> order(count);
  libra::random_bits bits(seed);
  for (unsigned i = 0; i < count; ++i) {
    std::size_t const j = bits.below(i + std::uint64_t{1});
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

}  // namespace

void launch(launch_shape const& shape, std::function<void()> const& kernel) {
  if (active != nullptr) {
    throw diagnosis("a kernel is launched from inside a kernel");
  }
  if (shape.block.count() == 0 || shape.block.count() > 1024 || shape.grid.count() == 0) {
    throw diagnosis(message("a launch has ", shape.grid.count(), " blocks of ", shape.block.count(),
                            " threads, expected at least 1 block of 1 to 1024"));
  }
  block_runner runner(shape, kernel);
  active = &runner;
  struct reset {
    ~reset() { active = nullptr; }
  } const at_end;
  for (unsigned const n : shuffled(shape.grid.count(), shape.seed ^ 0x9e3779b97f4a7c15U)) {
    runner.run({n % shape.grid.x, n / shape.grid.x % shape.grid.y, n / (shape.grid.x * shape.grid.y)});
  }
}

extent3 thread_index() { return active->current().index; }
extent3 block_index() { return active->index(); }
extent3 block_extent() { return active->shape().block; }
extent3 grid_extent() { return active->shape().grid; }
std::byte* shared_memory() { return active->shared(); }
unsigned lane() { return active->current_number() % warp_threads; }

void block_barrier(std::source_location const& at) {
  if (active->barriers().is_there(at)) {
    active->block_barrier(at);
  }
}
void warp_barrier(std::source_location const& at) {
  if (active->barriers().is_there(at)) {
    static_cast<void>(exchange(char{}, at));
  }
}

std::set<barrier_site> take_barriers_seen() {
  std::lock_guard const held(all_barriers.guard);
  return std::exchange(all_barriers.seen, {});
}
void remove_barrier(std::optional<barrier_site> const& site) {
  std::lock_guard const held(all_barriers.guard);
  all_barriers.removed = site;
}

detail::exchanged const* detail::exchange(void const* mine, std::size_t bytes, std::source_location const& at) {
  return active->exchange(mine, bytes, at);
}

void copy_async(void* to, void const* from, std::size_t bytes) {
  active->current().copies.back().push_back({to, from, bytes});
  if (active->toss()) {
    perform(active->current().copies.back());
  }
}

void commit_copies() { active->current().copies.emplace_back(); }

void wait_copies(unsigned pending) {
  auto& copies = active->current().copies;
  while (copies.size() > std::size_t{pending} + 1) {
    perform(copies.front());
    copies.pop_front();
  }
}

}  // namespace simt
