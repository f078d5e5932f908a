#pragma once

#include <libra/core/ids.hpp>
#include <libra/core/wide.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/plan/plan.hpp>
#include <libra/program/ops.hpp>
#include <libra/run/timeline.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace libra::host {

/// One rank's home tensors, by name; those that are of no use are empty. Shape: `[local_tokens, heads, head_dim]`.
struct rank_tensors {
  std::array<std::vector<float>, tensor_count> of;

  [[nodiscard]] std::vector<float>& operator[](tensor t) noexcept { return of[static_cast<std::size_t>(t)]; }
  [[nodiscard]] std::vector<float> const& operator[](tensor t) const noexcept {
    return of[static_cast<std::size_t>(t)];
  }
};

/// The plans of a micro-step's pools.
using pool_plans = std::span<std::shared_ptr<pool_plan const> const>;

/// The seed-given value of one row of one head: approximately normal, of variance one.
///
/// Determinism: depends on the seed, the tensor, the document, the token's place in it, the head and the channel only,
/// so that every plan of the same documents computes on the same numbers.
void fill_random_row(std::uint64_t seed, tensor what, std::int64_t document, std::int64_t token, std::int32_t head,
                     std::span<float> row);

/// Random q, k, v and d_o of one rank's home rows; rows of padding are zero.
[[nodiscard]] rank_tensors random_inputs(pool_batch const& batch, rank_id rank, std::uint64_t seed);

struct attention_run_options {
  std::uint64_t seed{};
  std::optional<float> softmax_scale;
  /// A rank that waits so long for another without anything arriving fails the run.
  std::chrono::milliseconds timeout{std::chrono::minutes(10)};
};

/// What the ranks of a micro-step's pools computed, and how long it took them.
struct attention_run {
  /// Wall time from the common start to the end of the slowest rank.
  double forward_seconds{};
  double backward_seconds{};
  /// Shape: `[ranks]` of all pools, in order. CPU time in kernels, forward and backward.
  std::vector<double> busy_seconds;
  /// Shape: `[ranks]` of all pools. When each op ran, forward then backward.
  std::vector<std::vector<op_time>> ops;
  /// Shape: `[ranks]` of all pools. The results: o, lse, dq, dk and dv.
  std::vector<rank_tensors> tensors;
  /// Between ranks, forward and backward.
  int128 bytes_sent{};
  /// Share of the exchanges' time during which their ranks did not stand still for them.
  double overlap{};
};

/// Runs attention of one micro-step, forward and backward, on random inputs: all ranks of all pools at once, each a
/// thread.
///
/// Errors: what the first rank to fail threw.
[[nodiscard]] attention_run run_attention(pool_plans pools, attention_run_options const& options = {});

/// The largest `|x - reference| / max |reference|` of each result tensor; infinite where a value is not finite.
///
/// Where the reference is nothing but rounding (dq and dk if every row sees one key) it is `|x - reference|`.
struct tensor_errors {
  double o{};
  double lse{};
  double dq{};
  double dk{};
  double dv{};

  /// True when each is as small as fp32 allows: 1e-5 for `o` and `lse`, 1e-4 for the gradients.
  [[nodiscard]] constexpr bool passed() const noexcept {
    return o <= 1e-5 && lse <= 1e-5 && dq <= 1e-4 && dk <= 1e-4 && dv <= 1e-4;
  }
};

/// Compares runs of the same sequences with attention in double precision, on all cores; padding must have come out
/// zero.
///
/// Each segment is computed once, whatever the number of runs. Pre: the runs were made with `options` and with plans
/// that differ from `pools` in dispatch only.
[[nodiscard]] std::vector<tensor_errors> check_attention(pool_plans pools, std::span<attention_run const> runs,
                                                         attention_run_options const& options = {});

}  // namespace libra::host
