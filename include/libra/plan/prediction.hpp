#pragma once

#include <libra/core/wide.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace libra {

namespace detail {

/// How far the largest of `count` normal variables lies above the mean, in standard deviations, on average.
///
/// Source: Blom, "Statistical estimates and transformed beta-variables", 1958: the quantile of (count - 3/8) / (count +
/// 1/4).
[[nodiscard]] inline double expected_largest_normal(std::int64_t count) {
  if (count <= 1) {
    return 0;
  }
  double const upper_tail = 1 - (static_cast<double>(count) - 0.375) / (static_cast<double>(count) + 0.25);
  double low = 0;
  double high = 10;
  for (int i = 0; i < 60; ++i) {
    double const middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) / 2 > upper_tail ? low : high) = middle;
  }
  return low;
}

}  // namespace detail

/// What the law of large numbers says about the skew of pools that are formed at random: largest over mean work.
///
/// The mean of `slots` of n sequences spreads by their standard deviation over the square root of `slots`, and the more
/// pools wait for each other, the further the largest lies out. Placement does better; where outliers rule, chance does
/// worse. For reports only. Shape: `work` is `[sequences]`, at least one, of any global batches. Pre: `slots` <=
/// `dp`.
[[nodiscard]] inline double predicted_skew(std::span<int128 const> work, std::int32_t slots, std::int32_t dp) {
  auto const n = static_cast<double>(work.size());
  double mean = 0;
  for (int128 const w : work) {
    mean += static_cast<double>(w) / n;
  }
  double variance = 0;
  for (int128 const w : work) {
    double const off = static_cast<double>(w) - mean;
    variance += off * off / n;
  }
  if (mean == 0 || n < 2) {
    return 1;
  }
  // Drawn without putting back: a pool of all sequences does not vary at all.
  double const left = std::fmax(0, n - slots) / (n - 1);
  double const spread = std::sqrt(variance * left / slots) / mean;
  return 1 + spread * detail::expected_largest_normal((dp + slots - 1) / slots);
}

}  // namespace libra
