#pragma once

#include <libra/core/wide.hpp>
#include <libra/io/json_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace libra {

/// Largest deviation from the reference of each result, over the largest value of the reference's tensor.
struct attention_errors {
  double o{};
  double lse{};
  double dq{};
  double dk{};
  double dv{};

  /// What fp32 attention stays below whatever the order of its sums: 1e-5 forward, 1e-4 for gradients.
  [[nodiscard]] bool small() const noexcept { return o < 1e-5 && lse < 1e-5 && dq < 1e-4 && dk < 1e-4 && dv < 1e-4; }
};

/// One system's execution of a micro-step.
struct system_report {
  std::string system;
  /// Wall time of the slowest rank.
  double forward_seconds{};
  double backward_seconds{};
  /// Shape: `[ranks]`. Time each rank kept a core busy, forward and backward.
  std::vector<double> busy_seconds;
  /// All ranks, forward and backward.
  int128 bytes_sent{};
  /// Share of the exchanges' time that was hidden behind computing.
  double overlap{1};
  attention_errors max_error;

  [[nodiscard]] double seconds() const noexcept { return forward_seconds + backward_seconds; }
  /// Largest over mean busy time.
  [[nodiscard]] double skew() const noexcept {
    double const sum = std::accumulate(busy_seconds.begin(), busy_seconds.end(), 0.0);
    return sum > 0 ? std::ranges::max(busy_seconds) * static_cast<double>(busy_seconds.size()) / sum : 1.0;
  }
};

/// Executions of the same placed micro-step under several systems.
struct run_report {
  std::int32_t micro_step{};
  std::vector<system_report> systems;

  [[nodiscard]] bool passed() const noexcept {
    return std::ranges::all_of(systems, [](system_report const& s) { return s.max_error.small(); });
  }
  /// Time under `ulysses` over that of the last system; nothing where `ulysses` did not run.
  [[nodiscard]] std::optional<double> speedup_over_ulysses() const noexcept {
    auto const base = std::ranges::find(systems, std::string_view("ulysses"), &system_report::system);
    if (base == systems.end() || !(systems.back().seconds() > 0)) {
      return std::nullopt;
    }
    return base->seconds() / systems.back().seconds();
  }
};

/// Writes the report's members into the object that is open.
inline void write_members(json_writer& json, run_report const& report) {
  json.array("systems", [&] {
    for (system_report const& s : report.systems) {
      json.object([&] {
        json.member("system", s.system);
        json.member("forward_seconds", s.forward_seconds);
        json.member("backward_seconds", s.backward_seconds);
        json.array("busy_seconds", [&] {
          for (double const busy : s.busy_seconds) {
            json.element(busy);
          }
        });
        json.member("skew", s.skew());
        json.member("bytes_sent", s.bytes_sent);
        json.member("overlap", s.overlap);
        json.object("max_error", [&] {
          json.member("o", s.max_error.o);
          json.member("lse", s.max_error.lse);
          json.member("dq", s.max_error.dq);
          json.member("dk", s.max_error.dk);
          json.member("dv", s.max_error.dv);
        });
        json.member("passed", s.max_error.small());
      });
    }
  });
  if (auto const speedup = report.speedup_over_ulysses()) {
    json.member("speedup_over_ulysses", *speedup);
  } else {
    json.member("speedup_over_ulysses", nullptr);
  }
  json.member("micro_step", report.micro_step);
}

}  // namespace libra
