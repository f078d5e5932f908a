#pragma once

#include <libra/io/json_writer.hpp>
#include <libra/program/ops.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace libra {

/// An op that ran on one queue of a rank. Units: picoseconds.
struct trace_event {
  std::string_view what;
  std::int32_t rank{};
  queue lane{};
  std::int64_t begin_ps{};
  std::int64_t duration_ps{};
};

/// A group of ranks that a viewer shows together.
struct trace_process {
  std::string name;
  std::vector<trace_event> events;
};

/// A trace for Chrome's and Perfetto's viewers: one process per group, one lane per queue of each rank.
///
/// Source: the Trace Event Format; times in microseconds.
[[nodiscard]] inline std::string trace_json(std::span<trace_process const> processes) {
  std::string text;
  json_writer json(text);
  json.object([&] {
    json.member("displayTimeUnit", "ns");
    json.array("traceEvents", [&] {
      for (std::size_t p = 0; p < processes.size(); ++p) {
        auto const named = [&](std::string_view kind, std::int64_t lane, std::string const& name) {
          json.object([&] {
            json.member("ph", "M");
            json.member("name", kind);
            json.member("pid", p);
            json.member("tid", lane);
            json.object("args", [&] { json.member("name", name); });
          });
        };
        named("process_name", 0, processes[p].name);
        auto const lane_of = [](trace_event const& e) {
          return std::int64_t{e.rank} * std::int64_t{queue_count} + static_cast<std::int64_t>(e.lane);
        };
        std::vector<bool> seen;
        for (trace_event const& e : processes[p].events) {
          auto const lane = static_cast<std::size_t>(lane_of(e));
          seen.resize(std::max(seen.size(), lane + 1));
          if (!seen[lane]) {
            seen[lane] = true;
            named("thread_name", lane_of(e), "rank " + std::to_string(e.rank) + " " + std::string(name_of(e.lane)));
          }
        }
        for (trace_event const& e : processes[p].events) {
          json.object([&] {
            json.member("ph", "X");
            json.member("name", e.what);
            json.member("pid", p);
            json.member("tid", lane_of(e));
            json.member("ts", static_cast<double>(e.begin_ps) * 1e-6);
            json.member("dur", static_cast<double>(e.duration_ps) * 1e-6);
          });
        }
      }
    });
  });
  return text;
}

}  // namespace libra
