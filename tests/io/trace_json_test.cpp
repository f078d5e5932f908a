#include <libra/io/trace_json.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <vector>

namespace {

TEST_CASE("a trace has a lane per queue and rank, and times in microseconds") {
  std::vector<libra::trace_process> const processes{{.name = "pooled",
                                                     .events = {{.what = "attend",
                                                                 .rank = 1,
                                                                 .lane = libra::queue::compute,
                                                                 .begin_ps = 2'000'000,
                                                                 .duration_ps = 500'000}}}};
  auto const trace = nlohmann::json::parse(libra::trace_json(processes));
  auto const& events = trace.at("traceEvents");
  REQUIRE(events.size() == 3);
  CHECK(events[0].at("args").at("name") == "pooled");
  CHECK(events[1].at("args").at("name") == "rank 1 compute");
  CHECK(events[2].at("ph") == "X");
  CHECK(events[2].at("tid") == events[1].at("tid"));
  CHECK(events[2].at("ts") == doctest::Approx(2.0));
  CHECK(events[2].at("dur") == doctest::Approx(0.5));
}

}  // namespace
