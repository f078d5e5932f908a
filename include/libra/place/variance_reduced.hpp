#pragma once

#include <libra/place/batches.hpp>
#include <libra/place/concept.hpp>
#include <libra/place/fill.hpp>
#include <libra/place/refine.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace libra {

/// Complementary sequences share a pool, over the whole global batch: first the micro-steps, then the pools inside
/// each.
///
/// A micro-step waits for its heaviest pool, and an outlier's pool is at least as heavy as the outlier with the
/// lightest company. So the step that takes the heaviest sequence left also takes the next heaviest, until all its
/// pools can reach that level, and fills up with the lightest; inside the step `fill_longest_first` levels the pools.
/// How far beyond the level a step goes is tried for a few values, and the placement with the least makespan is kept
/// and refined by exchanges.
///
/// Complexity: O(n log n) in the sequences, plus the refinement's budget. Determinism: integers, ties by lowest number.
struct variance_reduced {
  static constexpr std::string_view name = "variance_reduced";

  /// Pairs of sequences that may be weighed for an exchange, per global batch; 0 leaves the levelled pools as they are.
  std::int64_t refine_pairs{1'000'000};

  [[nodiscard]] placement operator()(std::span<int128 const> work, layout const& l, pool_partition const& pools) const {
    placement placed = packed_order(work.size(), l, pools);
    auto const per_batch = static_cast<std::size_t>(l.sequences_per_batch());
    batch_placer batch(work, l, pools);
    exchange_refiner refiner(work, pools, static_cast<std::size_t>(l.micro_steps));
    for (std::size_t first = 0; first < placed.at.size(); first += per_batch) {
      std::span<sequence_id> const at = std::span(placed.at).subspan(first, per_batch);
      batch.place(at);
      if (refine_pairs > 0) {
        refiner.refine(at, refine_pairs);
      }
    }
    return placed;
  }

 private:
  class batch_placer {
   public:
    batch_placer(std::span<int128 const> work, layout const& l, pool_partition const& pools)
        : work_(work),
          pools_(pools),
          dp_(static_cast<std::size_t>(l.dp)),
          steps_(static_cast<std::size_t>(l.micro_steps)) {}

    /// Replaces the packed order of one global batch by the best of the candidates.
    void place(std::span<sequence_id> batch) {
      order_.assign(batch.begin(), batch.end());
      sort_heaviest_first(order_, work_);
      sums_.assign(1, 0);
      for (sequence_id const s : order_) {
        sums_.push_back(sums_.back() + work_[s.index()]);
      }
      std::optional<int128> least;
      for (std::int32_t const excess : excess_percent) {
        trial_.resize(batch.size());
        int128 const makespan = try_excess(excess);
        if (!least || makespan < *least) {
          least = makespan;
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

    /// Forms the steps, levels the pools of each, and returns the makespan in scaled work per slot.
    int128 try_excess(std::int32_t excess) {
      std::size_t heavy = 0;
      std::size_t light = order_.size();
      int128 makespan = 0;
      for (std::size_t m = 0; m < steps_; ++m) {
        std::size_t const taken = m + 1 == steps_ ? light - heavy : heaviest_needed(heavy, light, excess);
        step_.assign(order_.begin() + static_cast<std::ptrdiff_t>(heavy),
                     order_.begin() + static_cast<std::ptrdiff_t>(heavy + taken));
        step_.insert(step_.end(), order_.begin() + static_cast<std::ptrdiff_t>(light - (dp_ - taken)),
                     order_.begin() + static_cast<std::ptrdiff_t>(light));
        heavy += taken;
        light -= dp_ - taken;
        makespan += level_pools(std::span(trial_).subspan(m * dp_, dp_));
      }
      return makespan;
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
      std::int32_t const larger = bins_.front().slots;
      std::int32_t const smaller = bins_.back().slots;
      int128 most = 0;
      for (bin const& b : bins_) {
        most = std::max(most, b.load * (b.slots == larger ? smaller : larger));
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
};
static_assert(placer<variance_reduced>);

}  // namespace libra
