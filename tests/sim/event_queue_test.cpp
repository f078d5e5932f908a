#include <libra/sim/event_queue.hpp>

#include <libra/core/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

using libra::sim::event_queue;
using libra::sim::never;

namespace {

/// The earliest event's source, whose event is withdrawn.
event_queue::source pop(event_queue& events) {
  event_queue::source const first = events.first();
  events.set(first, never);
  return first;
}

}  // namespace

TEST_CASE("events come out by time, ties by source") {
  event_queue events;
  events.reset(4);
  events.set(3, 10);
  events.set(1, 10);
  events.set(2, 5);
  events.set(0, 20);
  CHECK(events.time_ps() == 5);
  CHECK(pop(events) == 2);
  CHECK(pop(events) == 1);
  CHECK(pop(events) == 3);
  CHECK(pop(events) == 0);
  CHECK(events.empty());
}

TEST_CASE("a source's event can be moved and withdrawn") {
  event_queue events;
  events.reset(2);
  events.set(0, 10);
  events.set(1, 20);
  events.set(0, 30);
  CHECK(pop(events) == 1);
  events.set(1, never);
  events.set(0, never);
  CHECK(events.empty());
  events.set(1, 0);
  events.reset(1);
  CHECK(events.empty());
}

TEST_CASE("any sequence of changes leaves the earliest event in front") {
  libra::random_bits bits(3);
  for (int round = 0; round < 50; ++round) {
    auto const sources = static_cast<std::size_t>(bits.between(1, 40));
    std::vector<std::int64_t> expected(sources, never);
    event_queue events;
    events.reset(sources);
    for (int change = 0; change < 300; ++change) {
      auto const s = static_cast<std::uint32_t>(bits.below(sources));
      expected[s] = bits.below(5) == 0 ? never : bits.between(0, 50);
      events.set(s, expected[s]);
      auto const first = std::ranges::min_element(expected);
      CHECK(events.empty() == (*first == never));
      if (*first == never) {
        continue;
      }
      CHECK(events.time_ps() == *first);
      if (bits.below(3) == 0) {
        CHECK(pop(events) == static_cast<std::uint32_t>(first - expected.begin()));
        *first = never;
      }
    }
  }
}
