#pragma once

#include <libra/host/attention_run.hpp>
#include <libra/plan/plan.hpp>
#include <libra/run/concept.hpp>
#include <libra/run/pooled_attention.hpp>
#include <libra/run/timeline.hpp>

#include <array>
#include <chrono>
#include <ctime>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace libra::host {

/// CPU time of the calling thread: unlike wall time it does not grow while other ranks have the core.
[[nodiscard]] inline double thread_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Records when ops ran and the CPU time of those that compute.
class rank_observer {
 public:
  using clock = std::chrono::steady_clock;
  explicit rank_observer(clock::time_point origin) : times_(origin) {}

  void operator()(op const& what, op_step step) {
    if (what.kind != op_kind::exchange) {
      busy_seconds_ += step == op_step::start ? -thread_cpu_seconds() : thread_cpu_seconds();
    }
    times_(what, step);
  }
  [[nodiscard]] double busy_seconds() const noexcept { return busy_seconds_; }
  [[nodiscard]] std::span<op_time const> ops() const noexcept { return times_.ops(); }

 private:
  timeline<clock> times_;
  double busy_seconds_{};
};

/// What one rank computed, and when.
struct measured_rank {
  /// Units: seconds since the origin; when the rank began and ended each pass.
  std::array<double, 2> forward{};
  std::array<double, 2> backward{};
  double busy_seconds{};
  std::vector<op_time> ops;
  rank_tensors tensors;
};

/// Runs one rank's passes on random inputs, each beginning together with those of all ranks in `everyone`.
///
/// Errors: what the operator throws; the transports have been told.
template <libra::transport Everyone, libra::backend Backend>
[[nodiscard]] measured_rank measure_rank(Everyone& everyone, Backend& parts,
                                         std::shared_ptr<pool_plan const> const& plan,
                                         attention_run_options const& options,
                                         rank_observer::clock::time_point origin) {
  pool_batch const& batch = plan->batch;
  rank_id const rank = std::as_const(parts.transport()).rank();
  measured_rank result;
  rank_tensors& t = result.tensors;
  t = random_inputs(batch, rank, options.seed);
  for (tensor const r : {tensor::o, tensor::lse, tensor::dq, tensor::dk, tensor::dv}) {
    // Results that a call leaves unwritten would be found as not finite.
    std::int64_t const channels = is_statistic(r) ? 1 : batch.shape.head_dim;
    t[r].assign(static_cast<std::size_t>(batch.local_tokens(rank) * heads_of(r, batch.shape) * channels),
                std::numeric_limits<float>::quiet_NaN());
  }
  pooled_attention attention(parts, plan, {.softmax_scale = options.softmax_scale});
  rank_observer observer(origin);
  auto const now = [&] { return std::chrono::duration<double>(rank_observer::clock::now() - origin).count(); };
  attention.agree();
  everyone.gather({}, {});
  result.forward[0] = now();
  attention.forward({.q = t[tensor::q], .k = t[tensor::k], .v = t[tensor::v], .o = t[tensor::o], .lse = t[tensor::lse]},
                    observer);
  result.forward[1] = now();
  everyone.gather({}, {});
  result.backward[0] = now();
  attention.backward({.q = t[tensor::q],
                      .k = t[tensor::k],
                      .v = t[tensor::v],
                      .o = t[tensor::o],
                      .lse = t[tensor::lse],
                      .d_o = t[tensor::d_o],
                      .dq = t[tensor::dq],
                      .dk = t[tensor::dk],
                      .dv = t[tensor::dv]},
                     observer);
  result.backward[1] = now();
  result.busy_seconds = observer.busy_seconds();
  result.ops.assign(observer.ops().begin(), observer.ops().end());
  for (tensor const input : {tensor::q, tensor::k, tensor::v, tensor::d_o}) {
    t[input] = {};  // Large, and easily made again.
  }
  return result;
}

/// Puts the ranks' measurements together. Shape: `ranks` is `[ranks]` of all pools, in order.
[[nodiscard]] attention_run combine_ranks(pool_plans pools, std::vector<measured_rank> ranks);

}  // namespace libra::host
