#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace libra::sim {

/// A time that never comes.
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// The next event of each of a fixed set of sources; the earliest is first, ties by lowest source.
///
/// A binary heap that knows where each source is, so that an event can be moved or withdrawn.
/// Complexity: O(log n) per change in the sources that expect an event.
class event_queue {
 public:
  using source = std::uint32_t;

  /// Forgets all events and expects `sources` sources. Keeps its capacity.
  void reset(std::size_t sources) {
    heap_.clear();
    position_.assign(sources, absent);
  }

  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  /// When the earliest event is. Pre: not empty.
  [[nodiscard]] std::int64_t time_ps() const noexcept { return heap_.front().time_ps; }
  /// Whose event that is; it stays until the source's next one is set. Pre: not empty.
  [[nodiscard]] source first() const noexcept { return heap_.front().from; }

  /// Sets the next event of a source, or withdraws it when `time_ps` is `never`.
  void set(source s, std::int64_t time_ps) {
    std::uint32_t const at = position_[s];
    if (time_ps == never) {
      if (at != absent) {
        remove(at);
      }
    } else if (at == absent) {
      heap_.push_back({});
      rise(heap_.size() - 1, {time_ps, s});
    } else if (time_ps < heap_[at].time_ps) {
      rise(at, {time_ps, s});
    } else if (time_ps > heap_[at].time_ps) {
      sink(at, {time_ps, s});
    }
  }

 private:
  struct event {
    std::int64_t time_ps{};
    source from{};

    /// Without branches: which of two events comes first is as good as random.
    [[nodiscard]] bool before(event const& other) const noexcept {
      return static_cast<bool>(static_cast<int>(time_ps < other.time_ps) |
                               (static_cast<int>(time_ps == other.time_ps) & static_cast<int>(from < other.from)));
    }
  };
  static constexpr std::uint32_t absent = std::numeric_limits<std::uint32_t>::max();

  void put(std::size_t at, event const& e) {
    heap_[at] = e;
    position_[e.from] = static_cast<std::uint32_t>(at);
  }

  void remove(std::size_t at) {
    position_[heap_[at].from] = absent;
    event const last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) {
      return;
    }
    if (at > 0 && last.before(heap_[(at - 1) / 2])) {
      rise(at, last);
    } else {
      sink(at, last);
    }
  }

  void rise(std::size_t at, event const& e) {
    while (at > 0 && e.before(heap_[(at - 1) / 2])) {
      put(at, heap_[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    put(at, e);
  }

  void sink(std::size_t at, event const& e) {
    for (;;) {
      std::size_t child = 2 * at + 1;
      if (child >= heap_.size()) {
        break;
      }
      if (child + 1 < heap_.size()) {
        child += static_cast<std::size_t>(heap_[child + 1].before(heap_[child]));
      }
      if (!heap_[child].before(e)) {
        break;
      }
      put(at, heap_[child]);
      at = child;
    }
    put(at, e);
  }

  std::vector<event> heap_;
  /// Shape: `[sources]`. Where a source's event is in the heap.
  std::vector<std::uint32_t> position_;
};

}  // namespace libra::sim
