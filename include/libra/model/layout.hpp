#pragma once

#include <libra/core/error.hpp>

#include <cstdint>

namespace libra {

/// How the ranks of a job are arranged around packed sequences.
///
/// `dp` slots of `cp` ranks each take one packed sequence of `window_tokens` per micro-step; `pool` slots exchange
/// attention work; `micro_steps` of them make a global batch of `dp * micro_steps` sequences.
struct layout {
  std::int64_t window_tokens{262144};
  std::int32_t dp{64};
  std::int32_t cp{8};
  std::int32_t pool{8};
  std::int32_t micro_steps{4};

  [[nodiscard]] constexpr std::int64_t ranks() const noexcept { return std::int64_t{dp} * cp; }
  [[nodiscard]] constexpr std::int64_t sequences_per_batch() const noexcept { return std::int64_t{dp} * micro_steps; }
  [[nodiscard]] constexpr std::int32_t pools_per_step() const noexcept { return (dp + pool - 1) / pool; }

  friend constexpr bool operator==(layout const&, layout const&) = default;
};

/// Errors: `input_error` naming the first extent that is out of range.
constexpr void validate(layout const& l) {
  constexpr std::int64_t most_tokens = std::int64_t{1} << 40;
  constexpr std::int64_t most_ranks = std::int64_t{1} << 22;  // times tokens, as shards compute it, fits int64
  require(l.window_tokens >= 1, "window is ", l.window_tokens, " tokens, expected at least 1");
  require(l.window_tokens <= most_tokens, "window is ", l.window_tokens, " tokens, expected at most ", most_tokens);
  require(l.dp >= 1, "dp is ", l.dp, ", expected at least 1");
  require(l.cp >= 1, "cp is ", l.cp, ", expected at least 1");
  require(l.pool >= 1, "pool is ", l.pool, ", expected at least 1");
  require(l.pool <= l.dp, "pool is ", l.pool, ", expected at most dp ", l.dp);
  require(l.micro_steps >= 1, "micro_steps is ", l.micro_steps, ", expected at least 1");
  require(l.ranks() <= most_ranks, "dp * cp is ", l.ranks(), " ranks, expected at most ", most_ranks);
  require(l.sequences_per_batch() <= most_ranks, "dp * micro_steps is ", l.sequences_per_batch(),
          " sequences, expected at most ", most_ranks);
}

}  // namespace libra
