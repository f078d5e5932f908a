#include <libra/host/attention_run.hpp>

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>
#include <libra/host/backend.hpp>
#include <libra/plan/metrics.hpp>
#include <libra/run/pooled_attention.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <exception>
#include <limits>

namespace libra::host {

namespace {

using clock = std::chrono::steady_clock;

/// CPU time of the calling thread: unlike wall time it does not grow while other ranks have the core.
[[nodiscard]] double thread_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Records when ops ran and the CPU time of those that compute.
class rank_observer {
 public:
  explicit rank_observer(clock::time_point origin) : times_(origin) {}

  void operator()(op const& what, op_step step) {
    if (what.on == queue::compute) {
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

/// One rank of one pool of the micro-step.
struct member {
  std::size_t pool{};
  rank_id rank;
};

[[nodiscard]] std::vector<member> members_of(pool_plans pools) {
  std::vector<member> all;
  for (std::size_t p = 0; p < pools.size(); ++p) {
    require(pools[p] != nullptr, "plan of pool ", p, " is null");
    for (std::int32_t r = 0; r < pools[p]->batch.ranks(); ++r) {
      all.push_back({p, rank_id(r)});
    }
  }
  return all;
}

[[nodiscard]] std::size_t elements_of(pool_batch const& batch, rank_id rank, tensor t) {
  std::int64_t const channels = is_statistic(t) ? 1 : batch.shape.head_dim;
  return static_cast<std::size_t>(batch.local_tokens(rank) * heads_of(t, batch.shape) * channels);
}

/// Results that a call leaves unwritten would be found as not finite.
void poison_results(pool_batch const& batch, rank_id rank, rank_tensors& tensors) {
  for (tensor const t : {tensor::o, tensor::lse, tensor::dq, tensor::dk, tensor::dv}) {
    tensors[t].assign(elements_of(batch, rank, t), std::numeric_limits<float>::quiet_NaN());
  }
}

/// When a rank's passes began and ended.
struct pass_times {
  clock::time_point forward_begin, forward_end, backward_begin, backward_end;
};

/// Runs one rank, its passes beginning together with those of all others in `everyone`.
pass_times run_rank(transport& everyone, pooled_attention<backend>& attention, rank_tensors& t,
                    rank_observer& observer) {
  pass_times times;
  attention.agree();
  everyone.gather({}, {});
  times.forward_begin = clock::now();
  attention.forward({.q = t[tensor::q], .k = t[tensor::k], .v = t[tensor::v], .o = t[tensor::o], .lse = t[tensor::lse]},
                    observer);
  times.forward_end = clock::now();
  everyone.gather({}, {});
  times.backward_begin = clock::now();
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
  times.backward_end = clock::now();
  return times;
}

[[nodiscard]] double seconds_between(std::span<pass_times const> ranks, clock::time_point pass_times::* begin,
                                     clock::time_point pass_times::* end) {
  auto const first = std::ranges::min(ranks, {}, begin).*begin;
  auto const last = std::ranges::max(ranks, {}, end).*end;
  return std::chrono::duration<double>(last - first).count();
}

}  // namespace

void fill_random_row(std::uint64_t seed, tensor what, std::int64_t document, std::int64_t token, std::int32_t head,
                     std::span<float> row) {
  std::uint64_t key = mix64(seed + static_cast<std::uint64_t>(what));
  key = mix64(key ^ static_cast<std::uint64_t>(document));
  key = mix64(key ^ static_cast<std::uint64_t>(token));
  key = mix64(key ^ static_cast<std::uint64_t>(head));
  for (float& x : row) {
    // The sum of four uniform numbers is close to normal, and the same on every platform.
    std::uint64_t const bits = mix64(key += 0x9e3779b97f4a7c15U);
    auto const sum =
        static_cast<std::int64_t>((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48));
    x = static_cast<float>(sum - 131070) * (1.7320508F / 65536.0F);
  }
}

rank_tensors random_inputs(pool_batch const& batch, rank_id rank, std::uint64_t seed) {
  rank_tensors result;
  auto const head_dim = static_cast<std::size_t>(batch.shape.head_dim);
  for (tensor const t : {tensor::q, tensor::k, tensor::v, tensor::d_o}) {
    std::int32_t const heads = heads_of(t, batch.shape);
    result[t].assign(elements_of(batch, rank, t), 0.0F);
    for (std::size_t s = 0; s < batch.segments.size(); ++s) {
      segment const& what = batch.segments[s].what;
      batch.for_each_home(segment_id(s), {0, what.length}, [&](rank_id home, row_range tokens, std::int64_t local) {
        for (std::int64_t i = 0; home == rank && i < tokens.size() * heads; ++i) {
          auto const row = static_cast<std::size_t>(local * heads + i) * head_dim;
          fill_random_row(seed, t, what.document.value, what.offset + tokens.begin + i / heads,
                          static_cast<std::int32_t>(i % heads), std::span(result[t]).subspan(row, head_dim));
        }
      });
    }
  }
  return result;
}

attention_run run_attention(pool_plans pools, attention_run_options const& options) {
  std::vector<member> const members = members_of(pools);
  if (members.empty()) {
    return {};
  }
  std::vector<rank_group> groups;
  for (auto const& plan : pools) {
    groups.emplace_back(plan->batch.ranks());
  }
  std::vector<pass_times> times(members.size());
  attention_run result;
  result.busy_seconds.resize(members.size());
  result.ops.resize(members.size());
  result.tensors.resize(members.size());

  rank_group everyone(static_cast<std::int32_t>(members.size()));
  auto const origin = clock::now();
  run_ranks(everyone, [&](rank_id number) {
    member const& self = members[number.index()];
    transport start_line(everyone, number);
    start_line.gather({}, {});  // From here on every rank has a thread that can tell the others of a failure.
    backend parts(groups[self.pool], self.rank);
    try {
      pool_batch const& batch = pools[self.pool]->batch;
      rank_tensors& tensors = result.tensors[number.index()];
      tensors = random_inputs(batch, self.rank, options.seed);
      poison_results(batch, self.rank, tensors);
      pooled_attention attention(parts, pools[self.pool], {.softmax_scale = options.softmax_scale});
      rank_observer observer(origin);
      times[number.index()] = run_rank(start_line, attention, tensors, observer);
      result.busy_seconds[number.index()] = observer.busy_seconds();
      result.ops[number.index()].assign(observer.ops().begin(), observer.ops().end());
      for (tensor const t : {tensor::q, tensor::k, tensor::v, tensor::d_o}) {
        tensors[t] = {};  // Large, and easily made again.
      }
    } catch (std::exception const& e) {
      parts.transport().abort(e.what());
      throw;
    }
  });

  result.forward_seconds = seconds_between(times, &pass_times::forward_begin, &pass_times::forward_end);
  result.backward_seconds = seconds_between(times, &pass_times::backward_begin, &pass_times::backward_end);
  std::vector<op_time> all;
  for (auto const& ops : result.ops) {
    all.insert(all.end(), ops.begin(), ops.end());
  }
  for (auto const& plan : pools) {
    result.bytes_sent += traffic_of(*plan).total_bytes_sent;
  }
  result.overlap = hidden_share(all);
  return result;
}

}  // namespace libra::host
