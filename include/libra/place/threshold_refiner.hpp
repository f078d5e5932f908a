#pragma once

#include <libra/core/ids.hpp>
#include <libra/core/random.hpp>
#include <libra/core/wide.hpp>
#include <libra/model/placement.hpp>
#include <libra/place/levels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace libra {

/// Lowers what one global batch costs by exchanging random pairs of sequences; unless that levels it within a part in
/// 500 of what is possible, also where an exchange costs a little more.
///
/// Exchanges that only improve end where several sequences would have to move at once, which is what an outlier asks
/// for: its step has to be emptied of middling sequences and filled with heavy ones. So an exchange is accepted while
/// it costs no more than a threshold, which falls from a part of a step's mean to nothing; every other exchange takes a
/// sequence out of a pool that the cost hangs on. The best placement seen is kept. `Levels` says what a placement
/// costs: `layer_levels` or `batch_levels`.
///
/// Complexity: O(moves) times that of `Levels`. Determinism: integers and `random_bits` with a fixed seed; the number
/// of moves, not time, ends it.
/// Source: threshold accepting (Dueck, Scheuer, "Threshold accepting: a general purpose optimization algorithm
/// appearing superior to simulated annealing", 1990).
template <template <class> class Levels>
class threshold_refiner {
 public:
  threshold_refiner(std::span<int128 const> work, pool_partition const& pools, std::size_t steps,
                    std::int32_t stages = 1)
      : work_(work),
        steps_(steps),
        stages_(stages),
        levels_(steps, static_cast<std::size_t>(pools.size()), stages),
        exact_(steps, static_cast<std::size_t>(pools.size()), stages) {
    auto const count = static_cast<std::size_t>(pools.size());
    std::int32_t const larger = pools.largest();
    std::int32_t smaller = larger;
    for (std::int32_t g = 0; g < pools.size(); ++g) {
      smaller = std::min(smaller, pools.slots(pool_id(g)));
    }
    for (std::size_t p = 0; p < steps * count; ++p) {
      std::int32_t const slots = pools.slots(pool_id(p % count));
      first_.push_back(pool_of_.size());
      pool_of_.insert(pool_of_.end(), static_cast<std::size_t>(slots), p);
      factor_.push_back(slots == larger ? smaller : larger);
    }
    first_.push_back(pool_of_.size());
  }

  /// What a batch costs, exactly: in work per slot times the sizes of both kinds of pools.
  [[nodiscard]] int128 cost_of(std::span<sequence_id const> at) {
    std::vector<int128> levels(factor_.size());
    for (std::size_t slot = 0; slot < at.size(); ++slot) {
      levels[pool_of_[slot]] += work_[at[slot].index()] * factor_[pool_of_[slot]];
    }
    exact_.reset(levels);
    return exact_.value();
  }

  /// Replaces one global batch, `[steps, dp]`, by the best placement that `moves` exchanges find.
  void refine(std::span<sequence_id> at, std::int64_t moves) {
    if (factor_.size() < 2) {
      return;  // one pool holds everything
    }
    int const dropped_bits = load(at);
    start_.assign(at.begin(), at.end());
    search(at, moves);
    if (dropped_bits > 0 && cost_of(at) > cost_of(start_)) {
      std::ranges::copy(start_, at.begin());
    }
  }

  /// The first part of `refine`: only exchanges that keep sequences of like weight in the same step.
  void level(std::span<sequence_id> at, std::int64_t moves) {
    if (factor_.size() >= 2) {
      load(at);
      descend(at, moves);
    }
  }

 private:
  static constexpr std::uint64_t seed = 2026;
  static constexpr std::int64_t first_part = 16;  ///< of a step's mean cost: the first threshold
  static constexpr std::int64_t rounds = 256;     ///< how often the threshold falls
  static constexpr std::int64_t fall = 20;        ///< by which part of it
  static constexpr std::int64_t close_part = 500;
  static constexpr std::int64_t like_part = 4;

  struct exchange {
    std::size_t out{};  ///< slot of the heavier sequence
    std::size_t in{};
    std::int64_t rise{};
  };

  /// Exchanges that lower the cost only. They leave sequences of like weight together, which is what keeps work in its
  /// node: good enough when the levels end up even.
  void descend(std::span<sequence_id> at, std::int64_t moves) {
    random_bits bits(seed);
    for (std::int64_t move = 0; move < moves && !even(); ++move) {
      if (exchange const e = propose(bits); e.rise < 0 && keeps_order(e)) {
        apply(at, e);
      }
    }
  }

  /// True for an exchange inside a step, or of sequences whose weights differ by less than a part in `like_part`.
  [[nodiscard]] bool keeps_order(exchange const& e) const {
    std::size_t const pools = factor_.size() / steps_;
    return pool_of_[e.out] / pools == pool_of_[e.in] / pools ||
           weight_[e.out] - weight_[e.in] <= weight_[e.out] / like_part;
  }

  /// True when no placement can be cheaper by more than a part in `close_part`.
  [[nodiscard]] bool even() const {
    if (stages_ > 1) {
      return false;
    }
    int128 sum = 0;
    for (std::size_t p = 0; p < factor_.size(); ++p) {
      sum += levels_.level(p);
    }
    int128 const mean = sum / static_cast<std::int64_t>(factor_.size() / steps_);
    return levels_.value() - mean <= levels_.value() / close_part;
  }

  void search(std::span<sequence_id> at, std::int64_t moves) {
    descend(at, moves / 4);
    if (even()) {
      return;
    }
    std::int64_t now = levels_.value();
    std::int64_t best = now;
    best_.assign(at.begin(), at.end());
    bool best_is_here = true;
    random_bits bits(seed);
    std::int64_t threshold = now / static_cast<std::int64_t>(steps_) / first_part;
    std::int64_t const hold = std::max<std::int64_t>(1, moves / rounds);
    for (std::int64_t move = 0; move < moves; ++move) {
      if (move % hold == hold - 1) {
        threshold -= (threshold + fall - 1) / fall;
      }
      exchange const e = propose(bits);
      if (e.rise > threshold || e.out == e.in) {
        continue;
      }
      if (best_is_here && e.rise > 0) {
        std::ranges::copy(at, best_.begin());
        best_is_here = false;
      }
      apply(at, e);
      now += e.rise;
      if (now < best) {
        best = now;
        best_is_here = true;
      }
    }
    if (!best_is_here) {
      std::ranges::copy(best_, at.begin());
    }
  }

  /// Weighs the batch in 64 bits and returns how many low bits of its work had to be dropped for that.
  int load(std::span<sequence_id const> at) {
    int128 total = 0;
    for (sequence_id const s : at) {
      total += work_[s.index()];
    }
    int shift = 0;
    int128 const most = std::numeric_limits<std::int64_t>::max() / 4 / std::ranges::max(factor_) / stages_;
    while (total >> shift > most) {
      ++shift;
    }
    weight_.clear();
    std::vector<std::int64_t> levels(factor_.size());
    for (std::size_t slot = 0; slot < at.size(); ++slot) {
      weight_.push_back(static_cast<std::int64_t>(work_[at[slot].index()] >> shift));
      levels[pool_of_[slot]] += weight_.back() * factor_[pool_of_[slot]];
    }
    levels_.reset(levels);
    return shift;
  }

  [[nodiscard]] exchange propose(random_bits& bits) const {
    std::uint64_t const random = bits();
    auto const pick = [&](std::uint64_t from) {  // by 31 bits: a bias that small decides about nothing
      return static_cast<std::size_t>((from & 0x7fffffffU) * pool_of_.size() >> 31);
    };
    std::size_t out = pick(random);
    if ((random >> 63) != 0) {
      std::size_t const binding = levels_.binding(pool_of_[out]);
      out = first_[binding] + out % (first_[binding + 1] - first_[binding]);
    }
    std::size_t in = pick(random >> 31);
    if (weight_[out] < weight_[in]) {
      std::swap(out, in);
    }
    std::size_t const from = pool_of_[out];
    std::size_t const to = pool_of_[in];
    std::int64_t const difference = weight_[out] - weight_[in];
    if (from == to || difference == 0) {
      return {};
    }
    return {out, in,
            levels_.rise(from, to, levels_.level(from) - difference * factor_[from],
                         levels_.level(to) + difference * factor_[to])};
  }

  void apply(std::span<sequence_id> at, exchange const& e) {
    std::size_t const from = pool_of_[e.out];
    std::size_t const to = pool_of_[e.in];
    std::int64_t const difference = weight_[e.out] - weight_[e.in];
    levels_.set(from, to, levels_.level(from) - difference * factor_[from],
                levels_.level(to) + difference * factor_[to]);
    std::swap(at[e.out], at[e.in]);
    std::swap(weight_[e.out], weight_[e.in]);
  }

  std::span<int128 const> work_;
  std::size_t steps_;
  std::int32_t stages_;
  std::vector<std::size_t> pool_of_;  // by slot; pools are numbered through the steps
  std::vector<std::size_t> first_;    // slots of pool p: [first_[p], first_[p + 1])
  std::vector<std::int64_t> factor_;  // by pool: makes loads of unequal pools comparable levels
  std::vector<std::int64_t> weight_;  // by slot
  Levels<std::int64_t> levels_;
  Levels<int128> exact_;
  std::vector<sequence_id> start_;
  std::vector<sequence_id> best_;
};

}  // namespace libra
