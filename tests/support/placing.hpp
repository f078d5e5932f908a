#pragma once

#include <libra/core/random.hpp>
#include <libra/core/wide.hpp>
#include <libra/model/layout.hpp>
#include <libra/model/placement.hpp>
#include <libra/pool/fixed_size.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace libra::test {

/// A placement problem: weights, a layout and its pools.
struct placing {
  libra::layout layout;
  pool_partition pools;
  std::vector<int128> work;

  [[nodiscard]] std::string describe() const {
    std::string text =
        message("dp ", layout.dp, ", pool ", layout.pool, ", micro_steps ", layout.micro_steps, ", work");
    for (int128 const w : work) {
      text += message(' ', w);
    }
    return text;
  }
};

/// Weights of one of several adversarial kinds.
inline int128 random_weight(random_bits& bits, std::uint64_t kind) {
  switch (kind) {
    case 0:
      return 5;
    case 1:
      return bits.between(0, 3);  // many ties, some nothing
    case 2:
      return bits.between(1, 1000);
    case 3:
      return int128{1} << bits.between(0, 40);
    default:
      return bits.below(12) == 0 ? 1'000'000 : bits.between(1, 10);
  }
}

inline placing random_placing(random_bits& bits, std::int32_t most_dp, std::int32_t most_steps) {
  placing p;
  p.layout.window_tokens = 10;
  p.layout.cp = 1;
  p.layout.dp = static_cast<std::int32_t>(bits.between(1, most_dp));
  p.layout.pool = static_cast<std::int32_t>(bits.between(1, p.layout.dp));
  p.layout.micro_steps = static_cast<std::int32_t>(bits.between(1, most_steps));
  p.pools = fixed_size{}(p.layout, {});
  std::int64_t const batches = bits.between(1, 2);
  std::int64_t const count = batches * p.layout.sequences_per_batch() + bits.between(0, 3);
  std::uint64_t const kind = bits.below(5);
  for (std::int64_t s = 0; s < count; ++s) {
    p.work.push_back(random_weight(bits, kind));
  }
  return p;
}

/// Sum over the micro-steps of the largest pool's work per slot, times `scale` (a multiple of every pool size).
inline int128 makespan(placing const& p, std::span<sequence_id const> at, int128 scale) {
  int128 sum = 0;
  for (std::size_t first = 0; first < at.size(); first += static_cast<std::size_t>(p.layout.dp)) {
    int128 most = 0;
    for (std::int32_t g = 0; g < p.pools.size(); ++g) {
      int128 load = 0;
      for (std::int32_t slot = p.pools.begin[static_cast<std::size_t>(g)];
           slot < p.pools.begin[static_cast<std::size_t>(g) + 1]; ++slot) {
        load += p.work[at[first + static_cast<std::size_t>(slot)].index()];
      }
      most = std::max(most, load * (scale / p.pools.slots(pool_id(g))));
    }
    sum += most;
  }
  return sum;
}

/// A multiple of dp and of every pool size.
inline int128 common_scale(placing const& p) {
  int128 scale = p.layout.dp;
  for (std::int32_t g = 0; g < p.pools.size(); ++g) {
    scale *= scale % p.pools.slots(pool_id(g)) == 0 ? 1 : p.pools.slots(pool_id(g));
  }
  return scale;
}

/// True when `at` permutes the sequences of each global batch and holds nothing of an unfilled one.
inline bool is_permutation_of_batches(placing const& p, std::span<sequence_id const> at) {
  auto const per_batch = static_cast<std::size_t>(p.layout.sequences_per_batch());
  if (at.size() != p.work.size() / per_batch * per_batch) {
    return false;
  }
  std::vector<bool> seen(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::size_t const s = at[i].index();
    if (at[i].value < 0 || s >= at.size() || s / per_batch != i / per_batch || seen[s]) {
      return false;
    }
    seen[s] = true;
  }
  return true;
}

/// The least makespan over every placement of one global batch of a few sequences.
inline int128 least_makespan(placing const& p, std::size_t batch, int128 scale) {
  auto const per_batch = static_cast<std::size_t>(p.layout.sequences_per_batch());
  std::vector<sequence_id> at;
  for (std::size_t i = 0; i < per_batch; ++i) {
    at.emplace_back(batch * per_batch + i);
  }
  int128 least = makespan(p, at, scale);
  while (std::ranges::next_permutation(at).found) {
    least = std::min(least, makespan(p, at, scale));
  }
  return least;
}

}  // namespace libra::test
