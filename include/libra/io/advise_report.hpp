#pragma once

#include <libra/core/error.hpp>
#include <libra/io/json_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace libra {

/// What a pool size was predicted and simulated to do.
struct advised_pool {
  std::int32_t pool{};
  /// Largest over mean work of pools formed at random.
  double predicted_skew{};
  double placed_over_mean{};
  double attention_over_bound{};
  /// Units: seconds of one global batch, averaged over the list's.
  double step_seconds{};
};

/// Pool sizes side by side.
struct advise_report {
  /// By rising pool size; at least one.
  std::vector<advised_pool> pools;

  /// The smallest pool within 1 % of the fastest: an exchange among fewer ranks is easier to live with.
  [[nodiscard]] advised_pool const& recommended() const {
    require(!pools.empty(), "no pool size was tried, expected at least one");
    double const best = std::ranges::min(pools, {}, &advised_pool::step_seconds).step_seconds;
    return *std::ranges::find_if(pools, [&](advised_pool const& p) { return p.step_seconds <= 1.01 * best; });
  }
};

/// Writes `pools` and `recommended` into the object that is open.
inline void write_members(json_writer& json, advise_report const& report) {
  json.array("pools", [&] {
    for (advised_pool const& p : report.pools) {
      json.object([&] {
        json.member("pool", p.pool);
        json.member("predicted_skew", p.predicted_skew);
        json.member("placed_over_mean", p.placed_over_mean);
        json.member("attention_over_bound", p.attention_over_bound);
        json.member("step_seconds", p.step_seconds);
      });
    }
  });
  json.member("recommended", report.recommended().pool);
}

}  // namespace libra
