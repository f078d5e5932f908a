#pragma once

#include <libra/core/digest.hpp>
#include <libra/core/ids.hpp>
#include <libra/core/wide.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/model/speeds.hpp>
#include <libra/model/work.hpp>
#include <libra/plan/certificate.hpp>
#include <libra/plan/metrics.hpp>
#include <libra/plan/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace libra {

/// Whether a report keeps every tile, or only figures.
enum class report_detail : std::uint8_t { figures, tiles };

/// What a report keeps of one pool of one micro-step.
struct pool_report {
  micro_step_id micro_step;
  pool_id pool;
  pool_certificate certificate;
  std::int32_t stride{};  ///< of its shards (`pool_batch`)
  /// Only with `report_detail::tiles`.
  pool_batch batch;
  pool_dispatch dispatch;
};

/// The figures of a whole plan, gathered pool by pool, so that no pool's programs need to be kept.
class plan_report {
 public:
  explicit plan_report(batch_plan const& batch, report_detail detail = report_detail::figures)
      : batch_(&batch),
        detail_(detail),
        largest_(static_cast<std::size_t>(batch.placement.steps())) {
    fingerprint_.add(batch.fingerprint.combined());
    for (sequence_id const s : batch.placement.at) {
      work_ += batch.work[s.index()];
    }
  }

  /// Adds one pool. Pre: every pool of the plan once, by micro-step, then by pool: the fingerprint covers the order.
  void add(pool_plan plan, pool_locality const& locality) {
    wide_work& largest = largest_[plan.micro_step.index()];
    largest.forward = std::max(largest.forward, plan.certificate.makespan.forward);
    largest.backward = std::max(largest.backward, plan.certificate.makespan.backward);

    pool_traffic const traffic = traffic_of(plan);
    max_bytes_sent_ = std::max(max_bytes_sent_, traffic.max_bytes_sent);
    max_bytes_received_ = std::max(max_bytes_received_, traffic.max_bytes_received);
    workspace_bytes_ = std::max(workspace_bytes_, traffic.workspace_bytes);
    kept_bytes_ = std::max(kept_bytes_, traffic.kept_bytes);
    max_ranks_per_exchange_ = std::max(max_ranks_per_exchange_, plan.dispatch.ranks_per_exchange);
    idle_ranks_ += plan.dispatch.idle_ranks;

    locality_.local_rows += locality.local_rows;
    locality_.rows += locality.rows;
    locality_.local_work += locality.local_work;
    locality_.work += locality.work;
    fingerprint_.add(plan.fingerprint.combined());

    pools_.push_back({plan.micro_step, plan.pool, plan.certificate, plan.batch.stride, {}, {}});
    if (detail_ == report_detail::tiles) {
      pools_.back().batch = std::move(plan.batch);
      pools_.back().dispatch = std::move(plan.dispatch);
    }
  }

  [[nodiscard]] batch_plan const& batch() const noexcept { return *batch_; }
  [[nodiscard]] report_detail detail() const noexcept { return detail_; }
  [[nodiscard]] std::vector<pool_report> const& pools() const noexcept { return pools_; }

  /// Sum over the micro-steps of the largest rank's forward and largest rank's backward work, over the mean rank's;
  /// with ranks of unequal speed, of the longest times over those in which all ranks together do the work.
  [[nodiscard]] double dispatched_over_mean() const {
    wide_work all;
    for (wide_work const& w : largest_) {
      all += w;
    }
    std::int64_t const ranks = batch_->layout.ranks();
    return ratio(all.total(), work_.total()) *
           (static_cast<double>(sum_of_speeds(batch_->options.speeds_permille, ranks)) / unit_speed_permille);
  }
  /// Share of the query rows (times heads) that are computed where they live, from keys that live there too.
  [[nodiscard]] double local_token_share() const noexcept {
    return locality_.rows == 0 ? 1.0 : ratio(locality_.local_rows, locality_.rows);
  }
  /// The same by work.
  [[nodiscard]] double local_work_share() const noexcept {
    return locality_.work == 0 ? 1.0 : ratio(locality_.local_work, locality_.work);
  }
  /// Bytes: one layer, forward and backward, the rank and micro-step with the most.
  [[nodiscard]] std::int64_t max_bytes_sent() const noexcept { return max_bytes_sent_; }
  [[nodiscard]] std::int64_t max_bytes_received() const noexcept { return max_bytes_received_; }
  [[nodiscard]] std::int64_t workspace_bytes() const noexcept { return workspace_bytes_; }
  [[nodiscard]] std::int64_t kept_bytes() const noexcept { return kept_bytes_; }
  [[nodiscard]] std::int32_t max_ranks_per_exchange() const noexcept { return max_ranks_per_exchange_; }
  /// Ranks that can never get work, of all ranks in all micro-steps.
  [[nodiscard]] std::int64_t idle_ranks() const noexcept { return idle_ranks_; }
  /// Covers the placement and all pools added so far, their tiles and programs.
  [[nodiscard]] digest fingerprint() const noexcept { return fingerprint_.finish(); }

 private:
  batch_plan const* batch_;
  report_detail detail_;
  std::vector<pool_report> pools_;
  std::vector<wide_work> largest_;  // by micro-step
  wide_work work_;                  // of all placed sequences
  pool_locality locality_;
  std::int64_t max_bytes_sent_{};
  std::int64_t max_bytes_received_{};
  std::int64_t workspace_bytes_{};
  std::int64_t kept_bytes_{};
  std::int32_t max_ranks_per_exchange_{};
  std::int64_t idle_ranks_{};
  hasher fingerprint_;
};

}  // namespace libra
