#pragma once

#include <libra/model/pipeline.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

/// What a placement is for: who waits for whom, and over how many pipeline stages a micro-step passes.
///
/// A step that all its pools wait for takes the time of the heaviest of them. Through S stages that run one forward,
/// one backward, M micro-steps take their sum and S - 1 times the longest once more, as jobs through S like machines
/// do.
struct placement_goal {
  synchronisation sync{synchronisation::layer};
  std::int32_t stages{1};

  friend constexpr bool operator==(placement_goal const&, placement_goal const&) = default;
};

namespace detail {

/// The three heaviest of some members, so that the heaviest beside any two is known.
template <class Level>
struct heaviest_three {
  std::array<std::size_t, 3> member{};
  std::array<Level, 3> level{};

  void enter(std::size_t which, Level value) noexcept {
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (value > level[i]) {
        std::swap(value, level[i]);
        std::swap(which, member[i]);
      }
    }
  }
  [[nodiscard]] Level beside(std::size_t a, std::size_t b) const noexcept {
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (member[i] != a && member[i] != b) {
        return level[i];
      }
    }
    return {};
  }
};

}  // namespace detail

/// The pools of a global batch by level, work per slot in comparable integers, where all pools of a micro-step wait for
/// each other: the sum over the steps of the heaviest pool, and the heaviest of all once more per further stage.
///
/// Pools are numbered through the steps. Complexity: `rise` is constant with one stage, else linear in the steps; `set`
/// is linear in the pools of a step.
template <class Level>
class layer_levels {
 public:
  layer_levels(std::size_t steps, std::size_t pools, std::int32_t stages)
      : pools_(pools),
        more_stages_(stages - 1),
        top_(steps) {}

  void reset(std::span<Level const> levels) {
    level_.assign(levels.begin(), levels.end());
    for (std::size_t m = 0; m < top_.size(); ++m) {
      find_top(m);
    }
  }
  [[nodiscard]] Level level(std::size_t pool) const noexcept { return level_[pool]; }

  /// What the placement costs.
  [[nodiscard]] Level value() const noexcept {
    Level sum{};
    Level most{};
    for (auto const& t : top_) {
      sum += t.level[0];
      most = std::max(most, t.level[0]);
    }
    return sum + most * more_stages_;
  }
  /// A pool that has to be relieved for the cost to fall, in the step of `pool`.
  [[nodiscard]] std::size_t binding(std::size_t pool) const noexcept { return top_[pool / pools_].member[0]; }

  /// By how much the cost rises if two pools, `from` and `to`, get these levels.
  [[nodiscard]] Level rise(std::size_t from, std::size_t to, Level lowered, Level raised) const noexcept {
    std::size_t const m = from / pools_;
    std::size_t const n = to / pools_;
    Level const here =
        m == n ? std::max({top_[m].beside(from, to), lowered, raised}) : std::max(top_[m].beside(from, from), lowered);
    Level const there = m == n ? here : std::max(top_[n].level[0], raised);
    Level const sum = here - top_[m].level[0] + (m == n ? 0 : there - top_[n].level[0]);
    if (more_stages_ == 0) {
      return sum;
    }
    Level before{};
    Level after{};
    for (std::size_t i = 0; i < top_.size(); ++i) {
      before = std::max(before, top_[i].level[0]);
      after = std::max(after, i == m ? here : i == n ? there : top_[i].level[0]);
    }
    return sum + (after - before) * more_stages_;
  }
  void set(std::size_t from, std::size_t to, Level lowered, Level raised) {
    level_[from] = lowered;
    level_[to] = raised;
    find_top(from / pools_);
    if (to / pools_ != from / pools_) {
      find_top(to / pools_);
    }
  }

 private:
  void find_top(std::size_t m) {
    top_[m] = {};
    for (std::size_t p = m * pools_; p < (m + 1) * pools_; ++p) {
      top_[m].enter(p, level_[p]);
    }
  }

  std::size_t pools_;
  Level more_stages_;
  std::vector<Level> level_;                        // by pool
  std::vector<detail::heaviest_three<Level>> top_;  // by step
};

/// The same where pools go their own way until the end of the global batch: the pool number with the largest sum over
/// the steps, its heaviest step once more per further stage.
///
/// Complexity: `rise` is constant with one stage, else linear in the steps; `set` is linear in steps and pools of a
/// step.
template <class Level>
class batch_levels {
 public:
  batch_levels(std::size_t steps, std::size_t pools, std::int32_t stages)
      : steps_(steps),
        more_stages_(stages - 1),
        cost_(pools) {}

  void reset(std::span<Level const> levels) {
    level_.assign(levels.begin(), levels.end());
    for (std::size_t g = 0; g < cost_.size(); ++g) {
      cost_[g] = cost_with(g, g, g, level_[g], level_[g]);
    }
    find_top();
  }
  [[nodiscard]] Level level(std::size_t pool) const noexcept { return level_[pool]; }
  [[nodiscard]] Level value() const noexcept { return top_.level[0]; }
  [[nodiscard]] std::size_t binding(std::size_t pool) const noexcept {
    return pool / cost_.size() * cost_.size() + top_.member[0];
  }

  [[nodiscard]] Level rise(std::size_t from, std::size_t to, Level lowered, Level raised) const noexcept {
    std::size_t const g = from % cost_.size();
    std::size_t const h = to % cost_.size();
    Level const most =
        std::max({top_.beside(g, h), cost_with(g, from, to, lowered, raised), cost_with(h, from, to, lowered, raised)});
    return most - top_.level[0];
  }
  void set(std::size_t from, std::size_t to, Level lowered, Level raised) {
    level_[from] = lowered;
    level_[to] = raised;
    for (std::size_t const p : {from, to}) {
      cost_[p % cost_.size()] = cost_with(p % cost_.size(), p, p, level_[p], level_[p]);
    }
    find_top();
  }

 private:
  /// The cost of pool number g if pools `a` and `b`, which may be of another number, had these levels.
  [[nodiscard]] Level cost_with(std::size_t g, std::size_t a, std::size_t b, Level of_a, Level of_b) const noexcept {
    Level sum{};
    Level most{};
    for (std::size_t p = g; p < steps_ * cost_.size(); p += cost_.size()) {
      Level const here = p == a ? of_a : p == b ? of_b : level_[p];
      sum += here;
      most = std::max(most, here);
    }
    return sum + most * more_stages_;
  }
  void find_top() {
    top_ = {};
    for (std::size_t g = 0; g < cost_.size(); ++g) {
      top_.enter(g, cost_[g]);
    }
  }

  std::size_t steps_;
  Level more_stages_;
  std::vector<Level> level_;  // by pool
  std::vector<Level> cost_;   // by pool number inside a step
  detail::heaviest_three<Level> top_;
};

}  // namespace libra
