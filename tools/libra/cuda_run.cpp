#include "cuda_run.hpp"

#include <libra/core/error.hpp>

#ifdef LIBRA_WITH_CUDA

#include <libra/cuda/backend.hpp>
#include <libra/cuda/memory.hpp>
#include <libra/plan/metrics.hpp>
#include <libra/run/pooled_attention.hpp>
#include <libra/run/timeline.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace libra::tools {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::array inputs{tensor::q, tensor::k, tensor::v, tensor::d_o};
constexpr std::array results{tensor::o, tensor::lse, tensor::dq, tensor::dk, tensor::dv};

/// Marks the beginning and the end of each op in its own stream.
class device_timeline {
 public:
  explicit device_timeline(cuda::context& in) : in_(&in), origin_(true) { in.compute().record(origin_); }

  void operator()(op const& what, op_step step) {
    if (step == op_step::start) {
      open_[static_cast<std::size_t>(what.on)] = marks_.size();
      marks_.push_back({what.kind, what.on, what.round, cuda::event(true), cuda::event(true)});
      in_->on(what.on).record(marks_.back().begin);
    } else if (step == op_step::finish) {
      in_->on(what.on).record(marks_[open_[static_cast<std::size_t>(what.on)]].end);
    }
  }
  /// Units: seconds since `origin_seconds` before the timeline began. Pre: all that was marked has run.
  [[nodiscard]] std::vector<op_time> times(double origin_seconds) const {
    std::vector<op_time> all;
    for (mark const& m : marks_) {
      all.push_back({m.kind, m.on, m.round, origin_seconds + m.begin.seconds_since(origin_),
                     origin_seconds + m.end.seconds_since(origin_), 0});
    }
    return all;
  }

 private:
  struct mark {
    op_kind kind{};
    queue on{};
    std::int32_t round{};
    cuda::event begin;
    cuda::event end;
  };
  cuda::context* in_;
  cuda::event origin_;
  std::vector<mark> marks_;
  std::array<std::size_t, queue_count> open_{};
};

/// A rank's home tensors on the device.
class device_tensors {
 public:
  device_tensors(pool_batch const& batch, rank_id rank, std::uint64_t seed, cuda::stream_ref in) : in_(in) {
    host::rank_tensors const random = host::random_inputs(batch, rank, seed);
    for (tensor const t : inputs) {
      place(t, random[t]);
    }
    for (tensor const t : results) {
      std::int64_t const channels = is_statistic(t) ? 1 : batch.shape.head_dim;
      // Results that a call leaves unwritten would be found as not finite.
      place(t,
            std::vector<float>(static_cast<std::size_t>(batch.local_tokens(rank) * heads_of(t, batch.shape) * channels),
                               std::numeric_limits<float>::quiet_NaN()));
    }
    in.synchronize();
  }

  [[nodiscard]] std::span<float> operator[](tensor t) const {
    auto const i = static_cast<std::size_t>(t);
    return memory_[i].as<float>(sizes_[i]).as_argument();
  }
  [[nodiscard]] host::rank_tensors fetch_results() const {
    host::rank_tensors all;
    for (tensor const t : results) {
      auto const i = static_cast<std::size_t>(t);
      all[t].resize(sizes_[i]);
      cuda::copy<float>(memory_[i].as<float>(sizes_[i]), std::span(all[t]), in_);
    }
    in_.synchronize();
    return all;
  }

 private:
  void place(tensor t, std::vector<float> const& values) {
    auto const i = static_cast<std::size_t>(t);
    sizes_[i] = values.size();
    memory_[i] = cuda::arena(static_cast<std::int64_t>(values.size() * sizeof(float)), "a rank's tensors");
    cuda::copy(std::span(values), memory_[i].as<float>(values.size()), in_);
  }

  cuda::stream_ref in_;
  std::array<cuda::arena, tensor_count> memory_;
  std::array<std::size_t, tensor_count> sizes_{};
};

struct rank_result {
  std::array<clock::time_point, 4> times;  ///< forward begins and ends, backward begins and ends
  std::vector<op_time> ops;
  host::rank_tensors tensors;
};

/// `meet` waits for all ranks that begin together.
template <class Backend, class Meet>
[[nodiscard]] rank_result run_rank(Backend& parts, std::shared_ptr<pool_plan const> const& plan,
                                   host::attention_run_options const& options, clock::time_point origin, Meet meet) {
  rank_result result;
  pooled_attention attention(parts, plan, {.softmax_scale = options.softmax_scale});
  device_tensors const t(plan->batch, attention.rank(), options.seed, parts.in().compute());
  attention.agree();
  meet();
  double const began = std::chrono::duration<double>(clock::now() - origin).count();
  device_timeline observer(parts.in());
  result.times[0] = clock::now();
  attention.forward({.q = t[tensor::q], .k = t[tensor::k], .v = t[tensor::v], .o = t[tensor::o], .lse = t[tensor::lse]},
                    observer);
  parts.synchronize();
  result.times[1] = clock::now();
  meet();
  result.times[2] = clock::now();
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
  parts.synchronize();
  result.times[3] = clock::now();
  result.ops = observer.times(began);
  result.tensors = t.fetch_results();
  return result;
}

/// Charges exchanges with the time during which they were under way and their rank computed nothing.
void charge_idle_time(std::vector<op_time>& ops) {
  double free_since = -1;
  for (op_time const& o : ops) {
    if (o.on != queue::compute) {
      continue;
    }
    for (op_time& e : ops) {
      if (e.kind == op_kind::exchange && free_since >= 0) {
        e.blocked_seconds +=
            std::max(0.0, std::min(o.start_seconds, e.end_seconds) - std::max(free_since, e.start_seconds));
      }
    }
    free_since = o.end_seconds;
  }
}

[[nodiscard]] double seconds_of_computing(std::span<op_time const> ops) {
  double busy = 0;
  for (op_time const& o : ops) {
    busy += o.on == queue::compute ? o.end_seconds - o.start_seconds : 0;
  }
  return busy;
}

[[nodiscard]] double slowest(std::span<rank_result const> ranks, std::size_t begin) {
  auto first = ranks.front().times[begin];
  auto last = ranks.front().times[begin + 1];
  for (rank_result const& r : ranks) {
    first = std::min(first, r.times[begin]);
    last = std::max(last, r.times[begin + 1]);
  }
  return std::chrono::duration<double>(last - first).count();
}

}  // namespace

bool has_cuda() noexcept { return true; }
std::int32_t cuda_devices() noexcept { return cuda::device_count(); }

void require_cuda_device() {
  require(cuda::device_count() > 0, "--backend is cuda, but CUDA finds no device on this machine, expected host");
}

host::attention_run run_on_cuda(host::pool_plans pools, host::attention_run_options const& options) {
  host::attention_run run;
  std::vector<op_time> all;
  auto const origin = clock::now();
  for (auto const& plan : pools) {
    std::vector<rank_result> ranks(static_cast<std::size_t>(plan->batch.ranks()));
    cuda::peer_group group(plan->batch.ranks());
    run_ranks(group, [&](rank_id rank) {
      cuda::peer_backend<float> parts(group, rank);
      ranks[rank.index()] = run_rank(parts, plan, options, origin, [&] { parts.transport().gather({}, {}); });
    });
    run.forward_seconds = std::max(run.forward_seconds, slowest(ranks, 0));
    run.backward_seconds = std::max(run.backward_seconds, slowest(ranks, 2));
    for (rank_result& r : ranks) {
      charge_idle_time(r.ops);
      all.insert(all.end(), r.ops.begin(), r.ops.end());
      run.busy_seconds.push_back(seconds_of_computing(r.ops));
      run.ops.push_back(std::move(r.ops));
      run.tensors.push_back(std::move(r.tensors));
    }
    run.bytes_sent += traffic_of(*plan).total_bytes_sent;
  }
  run.overlap = hidden_share(all);
  return run;
}

host::measured_rank run_on_own_device(std::shared_ptr<pool_plan const> const& plan, cuda_process const& process,
                                      host::attention_run_options const& options) {
  require(process.processes_here <= cuda_devices(), "--backend is cuda, with ", process.processes_here,
          " processes on this machine, on which CUDA finds ", cuda_devices(), " devices, expected one for each");
  auto const origin = clock::now();
  cuda::device_scope const device(process.here);
  ncclUniqueId id{};
  if (process.rank == 0) {
    id = cuda::communicator::make_id();
  }
  process.share(std::as_writable_bytes(std::span(&id, 1)));
  cuda::communicator_options const limits{.timeout = options.timeout};
  cuda::communicator fetch(id, process.ranks, process.rank, limits);
  auto deliver = cuda::communicator::split(fetch.get(), 0, process.rank, limits);
  cuda::nccl_backend<float> parts(std::move(fetch), std::move(deliver), process.here, limits);
  rank_result r = run_rank(parts, plan, options, origin, process.meet);
  charge_idle_time(r.ops);
  auto const seconds = [&](std::size_t i) { return std::chrono::duration<double>(r.times[i] - origin).count(); };
  double const busy = seconds_of_computing(r.ops);
  return {.forward = {seconds(0), seconds(1)},
          .backward = {seconds(2), seconds(3)},
          .busy_seconds = busy,
          .ops = std::move(r.ops),
          .tensors = std::move(r.tensors)};
}

}  // namespace libra::tools

#else

namespace libra::tools {

bool has_cuda() noexcept { return false; }
std::int32_t cuda_devices() noexcept { return 0; }

void require_cuda_device() {
  throw input_error("--backend is cuda, which this libra was built without, expected host");
}

host::attention_run run_on_cuda(host::pool_plans, host::attention_run_options const&) {
  require_cuda_device();
  return {};
}

host::measured_rank run_on_own_device(std::shared_ptr<pool_plan const> const&, cuda_process const&,
                                      host::attention_run_options const&) {
  require_cuda_device();
  return {};
}

}  // namespace libra::tools

#endif
