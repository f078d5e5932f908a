#pragma once

#include <libra/core/ids.hpp>
#include <libra/core/wide.hpp>
#include <libra/model/layout.hpp>
#include <libra/model/placement.hpp>
#include <libra/place/fill.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace libra {

/// Forms the micro-steps of a global batch, so that all pools of a step can be as heavy as its outlier's.
///
/// A micro-step waits for its heaviest pool, and an outlier's pool is at least as heavy as the outlier with the
/// lightest company. So the step that takes the heaviest sequence left also takes the next heaviest, until all its
/// pools can reach that level, and fills up with the lightest; inside the step `fill_longest_first` levels the pools.
/// How far beyond the level a step goes is tried for a few values, and the cheapest placement is kept.
///
/// Complexity: O(n log n) in the sequences. Determinism: integers, ties by lowest number.
class step_former {
 public:
  step_former(std::span<int128 const> work, layout const& l, pool_partition const& pools)
      : work_(work),
        pools_(pools),
        dp_(static_cast<std::size_t>(l.dp)),
        steps_(static_cast<std::size_t>(l.micro_steps)) {}

  /// Replaces the packed order of one global batch by the cheapest of the candidates through so many pipeline stages;
  /// of those that cost at most `slack_percent` more, by that whose steps are of the most like weights.
  void place(std::span<sequence_id> batch, std::int32_t stages = 1, std::int32_t slack_percent = 0) {
    order_.assign(batch.begin(), batch.end());
    sort_heaviest_first(order_, work_);
    sums_.assign(1, 0);
    for (sequence_id const s : order_) {
      sums_.push_back(sums_.back() + work_[s.index()]);
    }
    std::optional<int128> least;
    for (std::int32_t const excess : excess_percent) {
      trial_.resize(batch.size());
      int128 const cost = try_excess(excess, stages);
      if (!least || cost * 100 < *least * (100 + slack_percent)) {
        least = least ? std::min(*least, cost) : cost;
        std::ranges::copy(trial_, batch.begin());
      }
      if (steps_ == 1) {
        break;  // one step takes everything, whatever the excess
      }
    }
  }

 private:
  /// Work of a step beyond the level of its outlier's pool. The last one takes the heaviest sequences throughout,
  /// which forms steps of like weight.
  static constexpr std::array<std::int32_t, 6> excess_percent{0, 5, 15, 40, 100, 1'000'000};

  /// Forms the steps, levels the pools of each, and returns their cost in scaled work per slot.
  int128 try_excess(std::int32_t excess, std::int32_t stages) {
    std::size_t heavy = 0;
    std::size_t light = order_.size();
    int128 sum = 0;
    int128 most = 0;
    for (std::size_t m = 0; m < steps_; ++m) {
      std::size_t const taken = m + 1 == steps_ ? light - heavy : heaviest_needed(heavy, light, excess);
      step_.assign(order_.begin() + static_cast<std::ptrdiff_t>(heavy),
                   order_.begin() + static_cast<std::ptrdiff_t>(heavy + taken));
      step_.insert(step_.end(), order_.begin() + static_cast<std::ptrdiff_t>(light - (dp_ - taken)),
                   order_.begin() + static_cast<std::ptrdiff_t>(light));
      heavy += taken;
      light -= dp_ - taken;
      int128 const level = level_pools(std::span(trial_).subspan(m * dp_, dp_));
      sum += level;
      most = std::max(most, level);
    }
    return sum + most * (stages - 1);
  }

  /// How many of the heaviest sequences left a step takes so that, with the lightest as the rest, its work reaches
  /// the level of the outlier's pool on every slot.
  [[nodiscard]] std::size_t heaviest_needed(std::size_t heavy, std::size_t light, std::int32_t excess) const {
    auto const company = static_cast<std::size_t>(pools_.largest()) - 1;
    int128 const outlier_pool = work_of(heavy, heavy + 1) + work_of(light - company, light);
    int128 const level = outlier_pool * (100 + excess);
    std::size_t least = 1;
    std::size_t most = dp_;
    while (least < most) {
      std::size_t const k = (least + most) / 2;
      int128 const total = work_of(heavy, heavy + k) + work_of(light - (dp_ - k), light);
      bool const reached = total * 100 * pools_.largest() >= level * static_cast<std::int64_t>(dp_);
      (reached ? most : least) = reached ? k : k + 1;
    }
    return most;
  }

  [[nodiscard]] int128 work_of(std::size_t first, std::size_t last) const { return sums_[last] - sums_[first]; }

  /// Distributes the step over the pools and returns the largest load per slot, scaled by both pool sizes.
  int128 level_pools(std::span<sequence_id> at) {
    bins_.clear();
    std::size_t first = 0;
    for (std::int32_t g = 0; g < pools_.size(); ++g) {
      bins_.push_back({.first = first, .slots = pools_.slots(pool_id(g))});
      first += static_cast<std::size_t>(pools_.slots(pool_id(g)));
    }
    fill_longest_first(step_, work_, bins_, at);
    auto const [smaller, larger] = std::ranges::minmax(bins_, {}, &bin::slots);
    int128 most = 0;
    for (bin const& b : bins_) {
      most = std::max(most, b.load * (b.slots == larger.slots ? smaller.slots : larger.slots));
    }
    return most;
  }

  std::span<int128 const> work_;
  pool_partition const& pools_;
  std::size_t dp_;
  std::size_t steps_;
  std::vector<sequence_id> order_;
  std::vector<int128> sums_;
  std::vector<sequence_id> step_;
  std::vector<sequence_id> trial_;
  std::vector<bin> bins_;
};

}  // namespace libra
