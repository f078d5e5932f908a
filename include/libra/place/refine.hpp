#pragma once

#include <libra/core/ids.hpp>
#include <libra/core/wide.hpp>
#include <libra/model/placement.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

/// Lowers the makespan of one global batch by exchanging two sequences at a time, the best pair first.
///
/// A step's makespan is its heaviest pool, so every exchange takes a sequence out of one of those and brings a lighter
/// one in, from the same step or another. Ends when no exchange helps or after `pairs` pairs have been weighed, a
/// budget that makes the result independent of the machine's speed. Complexity: O(pairs). Determinism: the first of the
/// best pairs in slot order.
class exchange_refiner {
 public:
  exchange_refiner(std::span<int128 const> work, pool_partition const& pools, std::size_t steps)
      : work_(work),
        pools_(pools),
        steps_(steps) {}

  /// `at` is one global batch, `[steps, dp]`. Returns the pairs that were weighed.
  std::int64_t refine(std::span<sequence_id> at, std::int64_t pairs) {
    load(at);
    std::int64_t weighed = 0;
    while (weighed < pairs) {
      exchange const best = find_best(at, weighed);
      if (best.gain <= 0) {
        break;
      }
      std::swap(at[best.out], at[best.in]);
      load(at);
    }
    return weighed;
  }

 private:
  struct pool_state {
    std::size_t first{};  ///< slot index in the batch
    std::size_t slots{};
    int128 per_work{};  ///< makes levels of unequal pools comparable
    int128 level{};
  };
  struct step_state {
    std::array<std::size_t, 3> heaviest{};  ///< pools by falling level
    std::array<int128, 3> level{};
  };
  struct exchange {
    int128 gain{};
    std::size_t out{};
    std::size_t in{};
  };

  void load(std::span<sequence_id const> at) {
    auto const count = static_cast<std::size_t>(pools_.size());
    pools_state_.assign(steps_ * count, {});
    steps_state_.assign(steps_, {});
    std::int32_t const larger = pools_.largest();
    std::int32_t smaller = larger;
    for (std::size_t g = 0; g < count; ++g) {
      smaller = std::min(smaller, pools_.slots(pool_id(g)));
    }
    std::size_t slot = 0;
    for (std::size_t p = 0; p < pools_state_.size(); ++p) {
      pool_state& pool = pools_state_[p];
      pool.first = slot;
      pool.slots = static_cast<std::size_t>(pools_.slots(pool_id(p % count)));
      pool.per_work = static_cast<std::int32_t>(pool.slots) == larger ? smaller : larger;
      for (std::size_t i = 0; i < pool.slots; ++i) {
        pool.level += work_[at[slot++].index()] * pool.per_work;
      }
      enter(steps_state_[p / count], p, pool.level);
    }
  }

  static void enter(step_state& step, std::size_t p, int128 level) {
    for (std::size_t i = 0; i < step.level.size(); ++i) {
      if (level > step.level[i]) {
        std::swap(level, step.level[i]);
        std::swap(p, step.heaviest[i]);
      }
    }
  }

  [[nodiscard]] exchange find_best(std::span<sequence_id const> at, std::int64_t& weighed) const {
    auto const count = static_cast<std::size_t>(pools_.size());
    exchange best;
    for (std::size_t m = 0; m < steps_; ++m) {
      step_state const& step = steps_state_[m];
      pool_state const& from = pools_state_[step.heaviest[0]];
      for (std::size_t p = 0; p < pools_state_.size(); ++p) {
        if (p == step.heaviest[0]) {
          continue;
        }
        pool_state const& to = pools_state_[p];
        bool const same_step = p / count == m;
        int128 const others = same_step && p == step.heaviest[1] ? step.level[2] : step.level[1];
        int128 const top_there = steps_state_[p / count].level[0];
        weighed += static_cast<std::int64_t>(from.slots * to.slots);
        for (std::size_t out = from.first; out < from.first + from.slots; ++out) {
          for (std::size_t in = to.first; in < to.first + to.slots; ++in) {
            int128 const difference = work_[at[out].index()] - work_[at[in].index()];
            if (difference <= 0) {
              continue;
            }
            int128 const here = std::max(others, from.level - difference * from.per_work);
            int128 const there = to.level + difference * to.per_work;
            int128 const gain = same_step ? step.level[0] - std::max(here, there)
                                          : step.level[0] - here - std::max<int128>(0, there - top_there);
            if (gain > best.gain) {
              best = {gain, out, in};
            }
          }
        }
      }
    }
    return best;
  }

  std::span<int128 const> work_;
  pool_partition const& pools_;
  std::size_t steps_;
  std::vector<pool_state> pools_state_;
  std::vector<step_state> steps_state_;
};

}  // namespace libra
