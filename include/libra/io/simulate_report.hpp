#pragma once

#include <libra/io/json_writer.hpp>
#include <libra/sim/training_step.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace libra {

/// A system's training step on a machine, at the best of its settings.
struct simulated_system {
  std::string system;
  std::string setting;
  sim::step_timing timing;
};

/// What a simulation compares. Units: seconds of one global batch, averaged over the list's.
struct simulate_report {
  sim::step_bound bound;
  std::vector<simulated_system> systems;

  /// Nothing unless the run has a system `ulysses`.
  [[nodiscard]] std::optional<double> speedup_over_ulysses(simulated_system const& s) const {
    auto const base = std::ranges::find(systems, "ulysses", &simulated_system::system);
    if (base == systems.end()) {
      return std::nullopt;
    }
    return base->timing.step_seconds / s.timing.step_seconds;
  }
  [[nodiscard]] double attention_over_bound(simulated_system const& s) const {
    return s.timing.attention_seconds / bound.attention_seconds;
  }
  /// The share of the bound's speed that the system reaches.
  [[nodiscard]] double of_ceiling(simulated_system const& s) const {
    return bound.step_seconds / s.timing.step_seconds;
  }
};

/// Writes `bound` and `systems` into the object that is open.
inline void write_members(json_writer& json, simulate_report const& report) {
  json.object("bound", [&] {
    json.member("attention_seconds", report.bound.attention_seconds);
    json.member("step_seconds", report.bound.step_seconds);
  });
  json.array("systems", [&] {
    for (simulated_system const& s : report.systems) {
      sim::step_timing const& t = s.timing;
      json.object([&] {
        json.member("system", s.system);
        json.member("step_seconds", t.step_seconds);
        json.member("attention_seconds", t.attention_seconds);
        json.member("exposed_exchange_seconds", t.exposed_exchange_seconds);
        json.member("linear_seconds", t.linear_seconds);
        json.member("bubble_seconds", t.bubble_seconds);
        json.member("tokens_per_second_per_rank", t.tokens_per_second_per_rank);
        json.member("worst_step_attention_seconds", t.worst_step_attention_seconds);
        json.member("max_tokens_per_rank", t.max_tokens_per_rank);
        json.member("max_ranks_per_exchange", t.max_ranks_per_exchange);
        json.member("max_bytes_per_rank", t.max_bytes_per_rank);
        if (auto const speedup = report.speedup_over_ulysses(s)) {
          json.member("speedup_over_ulysses", *speedup);
        } else {
          json.member("speedup_over_ulysses", nullptr);
        }
        json.member("of_ceiling", report.of_ceiling(s));
        json.member("attention_over_bound", report.attention_over_bound(s));
        json.member("setting", s.setting);
      });
    }
  });
}

}  // namespace libra
