#pragma once

#include <libra/core/ids.hpp>
#include <libra/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
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

/// Longest processing time first under cardinality: gives each sequence, heaviest first, to the lightest bin (per slot)
/// that has a free slot; ties go to the earlier bin. A bin with an outlier thus ends up with the lightest sequences.
///
/// `order` lists sequences by falling work and fills the bins' slots exactly; `at` receives them by slot.
/// Complexity: O(n log bins). Source: Graham, "Bounds on multiprocessing timing anomalies", 1969, with the bins' sizes
/// bounded as in Babel, Kellerer, Kotov, "The k-partitioning problem", 1998.
inline void fill_longest_first(std::span<sequence_id const> order, std::span<int128 const> work, std::span<bin> bins,
                               std::span<sequence_id> at) {
  std::vector<std::size_t> heap(bins.size());
  for (std::size_t b = 0; b < bins.size(); ++b) {
    heap[b] = b;
  }
  auto const later = [&](std::size_t a, std::size_t b) {
    if (bin::lighter(bins[a], bins[b])) return false;
    if (bin::lighter(bins[b], bins[a])) return true;
    return a > b;
  };
  std::ranges::make_heap(heap, later);
  for (sequence_id const s : order) {
    std::ranges::pop_heap(heap, later);
    bin& lightest = bins[heap.back()];
    at[lightest.first + static_cast<std::size_t>(lightest.filled)] = s;
    lightest.load += work[s.index()];
    ++lightest.filled;
    if (lightest.filled == lightest.slots) {
      heap.pop_back();
    } else {
      std::ranges::push_heap(heap, later);
    }
  }
}

/// Sorts sequences by falling work, equal ones by number.
inline void sort_heaviest_first(std::span<sequence_id> order, std::span<int128 const> work) {
  std::ranges::sort(order, [&](sequence_id a, sequence_id b) {
    return work[a.index()] != work[b.index()] ? work[a.index()] > work[b.index()] : a < b;
  });
}

}  // namespace libra
