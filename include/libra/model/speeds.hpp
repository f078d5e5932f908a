#pragma once

#include <libra/core/error.hpp>
#include <libra/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace libra {

/// Relative speeds of ranks, in thousandths: a rank of speed 500 takes twice as long for the same work as one of 1000.
///
/// Integers, so that plans stay integer. An empty list stands for ranks that all have speed 1. Shape: `[ranks]`.

inline constexpr std::int32_t unit_speed_permille = 1000;
inline constexpr std::int32_t most_speed_permille = 1'000'000;

/// True when every rank has speed 1, which is what no list of speeds means.
[[nodiscard]] constexpr bool all_speeds_one(std::span<std::int32_t const> speeds_permille) noexcept {
  return std::ranges::all_of(speeds_permille, [](std::int32_t s) { return s == unit_speed_permille; });
}

/// The sum of the speeds of `ranks` ranks, in thousandths. Pre: the list is empty or has as many.
[[nodiscard]] constexpr std::int64_t sum_of_speeds(std::span<std::int32_t const> speeds_permille,
                                                   std::int64_t ranks) noexcept {
  std::int64_t sum = speeds_permille.empty() ? ranks * unit_speed_permille : 0;
  for (std::int32_t const s : speeds_permille) {
    sum += s;
  }
  return sum;
}

/// The speed of the slowest rank.
[[nodiscard]] constexpr std::int32_t slowest_speed(std::span<std::int32_t const> speeds_permille) noexcept {
  return speeds_permille.empty() ? unit_speed_permille : std::ranges::min(speeds_permille);
}

/// How long a rank of that speed takes for `work`, or ranks of that speed together, where a rank of speed 1 takes
/// `work`; rounded up. Pre: a positive speed, and `work` at most 2^107.
[[nodiscard]] constexpr int128 at_speed(int128 work, std::int64_t speed_permille) noexcept {
  return ceil_div(work * unit_speed_permille, speed_permille);
}

/// Errors: `input_error` for another number of speeds than `ranks`, and for one that is out of range, with its rank.
constexpr void validate_speeds(std::span<std::int32_t const> speeds_permille, std::int64_t ranks) {
  require(speeds_permille.empty() || static_cast<std::int64_t>(speeds_permille.size()) == ranks, "there are ",
          speeds_permille.size(), " speeds, expected ", ranks, ", one a rank");
  for (std::size_t r = 0; r < speeds_permille.size(); ++r) {
    require(speeds_permille[r] >= 1 && speeds_permille[r] <= most_speed_permille, "speed of rank ", r, " is ",
            speeds_permille[r], " thousandths, expected 1 to ", most_speed_permille);
  }
}

}  // namespace libra
