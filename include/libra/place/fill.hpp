#pragma once

#include <libra/core/ids.hpp>
#include <libra/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace libra {

/// A group of slots to be filled with sequences: the slots' places in `placement::at`, and the work it holds so far.
struct bin {
  std::size_t first{};  ///< index of its first slot
  std::int32_t slots{};
  std::int32_t filled{};
  int128 load{};

  /// Orders bins by load per slot, exactly.
  [[nodiscard]] static constexpr bool lighter(bin const& a, bin const& b) noexcept {
    return a.load * b.slots < b.load * a.slots;
  }
};

namespace detail {

/// A binary heap of bins by level, equal ones by number. What it holds only rises, so one sift down does each step.
template <class Level>
class lightest_heap {
 public:
  struct entry {
    Level level{};
    std::size_t bin{};

    friend constexpr bool operator<(entry const& a, entry const& b) noexcept {
      return a.level != b.level ? a.level < b.level : a.bin < b.bin;
    }
  };

  void reserve(std::size_t bins) { entries_.reserve(bins); }
  void add(entry e) {
    entries_.push_back(e);
    for (std::size_t i = entries_.size() - 1; i > 0 && e < entries_[(i - 1) / 2]; i = (i - 1) / 2) {
      std::swap(entries_[i], entries_[(i - 1) / 2]);
    }
  }
  /// Pre of what follows: not empty.
  [[nodiscard]] std::size_t lightest() const noexcept { return entries_.front().bin; }
  void raise_lightest(Level level) noexcept { sift_down({level, lightest()}); }
  void remove_lightest() noexcept {
    entry const last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) {
      sift_down(last);
    }
  }

 private:
  /// Puts `e` in place of the lightest.
  void sift_down(entry const e) noexcept {
    std::size_t i = 0;
    for (std::size_t child = 1; child < entries_.size(); child = 2 * i + 1) {
      if (child + 1 < entries_.size() && entries_[child + 1] < entries_[child]) {
        ++child;
      }
      if (!(entries_[child] < e)) {
        break;
      }
      entries_[i] = entries_[child];
      i = child;
    }
    entries_[i] = e;
  }

  std::vector<entry> entries_;
};

/// `fill_longest_first` with levels, loads times `common` per slot, of a type that holds them all.
template <class Level>
void fill_by_level(std::span<sequence_id const> order, std::span<int128 const> work, std::span<bin> bins,
                   std::span<sequence_id> at, std::int64_t common) {
  auto const level = [&](bin const& b) { return static_cast<Level>(b.load * (common / b.slots)); };
  lightest_heap<Level> heap;
  heap.reserve(bins.size());
  for (std::size_t b = 0; b < bins.size(); ++b) {
    heap.add({level(bins[b]), b});
  }
  for (sequence_id const s : order) {
    bin& lightest = bins[heap.lightest()];
    at[lightest.first + static_cast<std::size_t>(lightest.filled)] = s;
    lightest.load += work[s.index()];
    ++lightest.filled;
    if (lightest.filled == lightest.slots) {
      heap.remove_lightest();
    } else {
      heap.raise_lightest(level(lightest));
    }
  }
}

}  // namespace detail

/// Longest processing time first under cardinality: gives each sequence, heaviest first, to the lightest bin (per slot)
/// that has a free slot; ties go to the earlier bin. A bin with an outlier thus ends up with the lightest sequences.
///
/// `order` lists sequences by falling work and fills the bins' slots exactly; `at` receives them by slot.
/// Complexity: O(n log bins). Source: Graham, "Bounds on multiprocessing timing anomalies", 1969, with the bins' sizes
/// bounded as in Babel, Kellerer, Kotov, "The k-partitioning problem", 1998.
inline void fill_longest_first(std::span<sequence_id const> order, std::span<int128 const> work, std::span<bin> bins,
                               std::span<sequence_id> at) {
  // Loads per slot become integers by a common multiple of the bins' sizes, so that the heap compares plain numbers.
  std::int64_t common = 1;
  for (bin const& b : bins) {
    common = std::lcm(common, std::int64_t{b.slots});
  }
  int128 total = 0;
  for (bin const& b : bins) {
    total += b.load;
  }
  for (sequence_id const s : order) {
    total += work[s.index()];
  }
  if (total <= std::numeric_limits<std::int64_t>::max() / common) {
    detail::fill_by_level<std::int64_t>(order, work, bins, at, common);
  } else {
    detail::fill_by_level<int128>(order, work, bins, at, common);
  }
}

/// Sorts sequences by falling work, equal ones by number.
inline void sort_heaviest_first(std::span<sequence_id> order, std::span<int128 const> work) {
  struct weighed {
    int128 work{};
    sequence_id sequence;
  };
  std::vector<weighed> keyed(order.size());  // looking the work up in every comparison would take twice as long
  std::ranges::transform(order, keyed.begin(), [&](sequence_id s) { return weighed{work[s.index()], s}; });
  std::ranges::sort(keyed, [](weighed const& a, weighed const& b) {
    return a.work != b.work ? a.work > b.work : a.sequence < b.sequence;
  });
  std::ranges::transform(keyed, order.begin(), &weighed::sequence);
}

}  // namespace libra
