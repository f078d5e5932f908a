#pragma once

#include <libra/core/digest.hpp>
#include <libra/core/error.hpp>
#include <libra/core/ids.hpp>
#include <libra/plan/batch_of.hpp>
#include <libra/plan/hashing.hpp>
#include <libra/plan/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace libra {

/// Remembers a scheduler's pool plans by a digest of what they depend on: planned once, run in every layer.
///
/// Layers of one kind have the same inputs and share a plan; layers with another mask or other heads have another. The
/// plans that were used least recently are forgotten; whoever holds one keeps it alive. Not for several threads at
/// once.
template <class Scheduler>
class plan_cache {
 public:
  /// Errors: `input_error` unless `capacity >= 1`.
  explicit plan_cache(Scheduler planner, std::size_t capacity = 16)
      : planner_(std::move(planner)),
        capacity_(capacity) {
    require(capacity >= 1, "capacity of the plan cache is ", capacity, ", expected at least 1");
  }

  /// What the scheduler's `plan_pool` returns, from memory when it was asked the same before.
  ///
  /// Errors: as `plan_pool`; nothing is remembered then. Complexity: when remembered, linear in the pool's segments.
  [[nodiscard]] std::shared_ptr<pool_plan const> plan_pool(batch_plan const& batch, micro_step_id m, pool_id g) {
    digest const key = key_of(batch, m, g);
    auto const found = std::ranges::find(plans_, key, &entry::key);
    if (found != plans_.end()) {
      ++hits_;
      std::rotate(plans_.begin(), found, found + 1);
      return plans_.front().plan;
    }
    ++misses_;
    auto plan = std::make_shared<pool_plan const>(planner_.plan_pool(batch, m, g));
    if (plans_.size() == capacity_) {
      plans_.pop_back();
    }
    plans_.insert(plans_.begin(), entry{key, plan});
    return plan;
  }

  [[nodiscard]] Scheduler const& planner() const noexcept { return planner_; }
  [[nodiscard]] std::int64_t hits() const noexcept { return hits_; }
  [[nodiscard]] std::int64_t misses() const noexcept { return misses_; }

 private:
  struct entry {
    digest key;
    std::shared_ptr<pool_plan const> plan;
  };

  /// The pool's segments, shape and homes, and the options and policies. The place in the batch is in it too: it is
  /// part of the plan.
  [[nodiscard]] static digest key_of(batch_plan const& batch, micro_step_id m, pool_id g) {
    return hasher{}
        .add(batch.fingerprint.configuration)
        .add(digest_of(batch_of(batch, m, g)))
        .add(m.value)
        .add(g.value)
        .finish();
  }

  Scheduler planner_;
  std::size_t capacity_;
  /// Most recently used first.
  std::vector<entry> plans_;
  std::int64_t hits_{};
  std::int64_t misses_{};
};

}  // namespace libra
