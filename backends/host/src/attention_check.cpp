#include <libra/host/attention_run.hpp>

#include <libra/core/error.hpp>
#include <libra/host/reference.hpp>
#include <libra/host/tile_kernel.hpp>
#include <libra/run/bindings.hpp>
#include <libra/run/home_rows.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

namespace libra::host {

namespace {

constexpr std::array checked_tensors{tensor::o, tensor::lse, tensor::dq, tensor::dk, tensor::dv};
constexpr std::array input_tensors{tensor::q, tensor::k, tensor::v, tensor::d_o};

/// A reference below this is nothing but rounding: dq and dk where every row sees one key.
constexpr double rounding = 1e-9;

/// The largest value of one tensor and the largest error of each run.
struct largest {
  double value{};
  std::vector<double> error;

  void include(largest const& other) {
    value = std::max(value, other.value);
    for (std::size_t i = 0; i < error.size(); ++i) {
      error[i] = std::max(error[i], other.error[i]);
    }
  }
};
using largest_of = std::array<largest, checked_tensors.size()>;

[[nodiscard]] double error_of(double x, double expected) {
  return std::isfinite(x) ? std::abs(x - expected) : std::numeric_limits<double>::infinity();
}

/// One key/value head of one segment, with the query heads that read it.
struct problem {
  pool_batch const* batch{};
  std::size_t first_rank{};  ///< of the pool among all ranks
  segment_id segment;
  std::int32_t kv_head{};

  [[nodiscard]] std::int64_t length() const { return batch->length(segment); }
  [[nodiscard]] region part(tensor t) const {
    std::int32_t const group = has_kv_heads(t) ? 1 : batch->shape.group();
    return {t, segment, kv_head * group, (kv_head + 1) * group, {0, length()}};
  }
  /// What a run's ranks hold of it together.
  [[nodiscard]] std::vector<float> gather(tensor t, attention_run const& run) const {
    std::int64_t const channels = is_statistic(t) ? 1 : batch->shape.head_dim;
    std::vector<float> dense(static_cast<std::size_t>(length() * part(t).heads() * channels));
    gather_region(
        *batch, part(t), [&](rank_id r) { return std::span(run.tensors[first_rank + r.index()][t]); },
        std::span(dense));
    return dense;
  }
};

[[nodiscard]] std::vector<double> const& result_of(reference_result const& r, tensor t) {
  switch (t) {
    case tensor::o:
      return r.o;
    case tensor::lse:
      return r.lse;
    case tensor::dq:
      return r.dq;
    case tensor::dk:
      return r.dk;
    default:
      return r.dv;
  }
}

/// The seed's numbers of one input, as dense as the reference wants them.
[[nodiscard]] std::vector<float> random_input(problem const& p, tensor t, std::uint64_t seed) {
  region const part = p.part(t);
  segment const& what = (*p.batch)[p.segment].what;
  auto const head_dim = static_cast<std::size_t>(p.batch->shape.head_dim);
  std::vector<float> dense(static_cast<std::size_t>(p.length() * part.heads()) * head_dim);
  std::size_t at = 0;
  for (std::int64_t token = what.offset; token < what.offset + what.length; ++token) {
    for (std::int32_t head = part.head_begin; head < part.head_end; ++head, at += head_dim) {
      fill_random_row(seed, t, what.document.value, token, head, std::span(dense).subspan(at, head_dim));
    }
  }
  return dense;
}

[[nodiscard]] reference_result solve(problem const& p, attention_run_options const& options) {
  attention_shape const& shape = p.batch->shape;
  std::array<std::vector<float>, input_tensors.size()> dense;
  std::array<head_rows<float const>, input_tensors.size()> view;
  for (std::size_t i = 0; i < input_tensors.size(); ++i) {
    dense[i] = random_input(p, input_tensors[i], options.seed);
    view[i] = {dense[i].data(), std::int64_t{p.part(input_tensors[i]).heads()} * shape.head_dim, shape.head_dim};
  }
  return reference_attention({.length = p.length(),
                              .heads = shape.group(),
                              .head_dim = shape.head_dim,
                              .mask = shape.mask,
                              .scale = options.softmax_scale.value_or(default_softmax_scale(shape)),
                              .q = view[0],
                              .k = view[1],
                              .v = view[2],
                              .d_o = view[3]});
}

void compare(problem const& p, std::span<attention_run const> runs, attention_run_options const& options,
             largest_of& worst) {
  reference_result const reference = solve(p, options);
  for (std::size_t i = 0; i < checked_tensors.size(); ++i) {
    std::vector<double> const& expected = result_of(reference, checked_tensors[i]);
    for (double const x : expected) {
      worst[i].value = std::max(worst[i].value, std::abs(x));
    }
    for (std::size_t r = 0; r < runs.size(); ++r) {
      std::vector<float> const got = p.gather(checked_tensors[i], runs[r]);
      for (std::size_t e = 0; e < expected.size(); ++e) {
        worst[i].error[r] = std::max(worst[i].error[r], error_of(got[e], expected[e]));
      }
    }
  }
}

/// Padding has no reference: whatever is not zero there is an error without bound.
void check_padding(pool_batch const& batch, rank_id rank, rank_tensors const& tensors, std::size_t run,
                   largest_of& worst) {
  std::vector<bool> used(static_cast<std::size_t>(batch.local_tokens(rank)));
  for (std::size_t s = 0; s < batch.segments.size(); ++s) {
    batch.for_each_home(segment_id(s), {0, batch.length(segment_id(s))},
                        [&](rank_id home, row_range tokens, std::int64_t local) {
                          if (home == rank) {
                            std::fill_n(used.begin() + local, tokens.size(), true);
                          }
                        });
  }
  for (std::size_t i = 0; i < checked_tensors.size() && !used.empty(); ++i) {
    std::vector<float> const& values = tensors[checked_tensors[i]];
    std::size_t const row = values.size() / used.size();
    for (std::size_t e = 0; e < values.size(); ++e) {
      if (!used[e / row] && !(values[e] == 0.0F)) {
        worst[i].error[run] = std::numeric_limits<double>::infinity();
      }
    }
  }
}

/// Calls `work(i)` for every i below `count` on all cores; throws the first exception.
template <class Work>
void on_all_cores(std::size_t count, Work work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr thrown;
  std::mutex guard;
  auto const loop = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) {
        work(i);
      }
    } catch (...) {
      next = count;
      std::lock_guard const lock(guard);
      thrown = thrown ? thrown : std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned t = 1; t < std::min<std::size_t>(count, std::thread::hardware_concurrency()); ++t) {
      helpers.emplace_back(loop);
    }
    loop();
  }
  if (thrown) {
    std::rethrow_exception(thrown);
  }
}

}  // namespace

std::vector<tensor_errors> check_attention(pool_plans pools, std::span<attention_run const> runs,
                                           attention_run_options const& options) {
  if (runs.empty()) {
    return {};
  }
  std::vector<problem> problems;
  largest_of worst;
  for (largest& w : worst) {
    w.error.resize(runs.size());
  }
  std::size_t rank = 0;
  for (auto const& plan : pools) {
    pool_batch const& batch = plan->batch;
    for (std::size_t s = 0; s < batch.segments.size(); ++s) {
      for (std::int32_t h = 0; h < batch.shape.kv_heads; ++h) {
        problems.push_back({&batch, rank, segment_id(s), h});
      }
    }
    for (std::int32_t r = 0; r < batch.ranks(); ++r, ++rank) {
      for (std::size_t i = 0; i < runs.size(); ++i) {
        check_padding(batch, rank_id(r), runs[i].tensors[rank], i, worst);
      }
    }
  }
  // The longest first, so that no core starts it when the others are done.
  std::ranges::stable_sort(problems, std::ranges::greater{}, &problem::length);

  std::mutex guard;
  on_all_cores(problems.size(), [&](std::size_t i) {
    problem const& p = problems[i];
    largest_of mine;
    for (largest& w : mine) {
      w.error.resize(runs.size());
    }
    compare(p, runs, options, mine);
    std::lock_guard const lock(guard);
    for (std::size_t t = 0; t < worst.size(); ++t) {
      worst[t].include(mine[t]);
    }
  });

  std::vector<tensor_errors> result;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    auto const relative = [&](std::size_t t) {
      return worst[t].value > rounding ? worst[t].error[r] / worst[t].value : worst[t].error[r];
    };
    result.push_back({relative(0), relative(1), relative(2), relative(3), relative(4)});
  }
  return result;
}

}  // namespace libra::host
