#pragma once

#include <libra/core/random.hpp>
#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/place/longest_first.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>
#include <libra/sample/sampler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace libra::test {

using placed_scheduler = scheduler<best_fit_decreasing, fixed_size, longest_first, ulysses, pair_count>;
using plain_scheduler = scheduler<best_fit_decreasing, fixed_size, as_packed, ulysses, pair_count>;

inline placed_scheduler placed() { return {{}, {}, {}, {}, {}}; }
inline plain_scheduler plain() { return {{}, {}, {}, {}, {}}; }

/// Lengths with a long tail, some empty, some longer than a window.
inline std::vector<std::int64_t> sample_lengths(std::size_t count, std::int64_t window, std::uint64_t seed) {
  random_bits bits(seed);
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < count; ++i) {
    lengths.push_back(bits.below(16) == 0 ? bits.between(0, 3 * window) : bits.between(0, window / 3));
  }
  return lengths;
}

/// What a batch holds, whatever the order of its sequences.
inline std::vector<std::vector<segment>> contents(global_batch const& batch) {
  auto const less = [](segment const& a, segment const& b) {
    return std::pair(a.document.value, a.offset) < std::pair(b.document.value, b.offset);
  };
  std::vector<std::vector<segment>> rows;
  for (std::size_t s = 0; s < batch.plan.packing.sequences.size(); ++s) {
    auto const row = batch.plan.packing.sequences[s];
    rows.emplace_back(row.begin(), row.end());
    std::ranges::sort(rows.back(), less);
  }
  return rows;
}

}  // namespace libra::test
