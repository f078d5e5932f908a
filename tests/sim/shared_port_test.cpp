#include <libra/sim/shared_port.hpp>

#include <libra/core/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

using libra::random_bits;
using libra::sim::never;
using libra::sim::shared_port;

namespace {

struct request {
  std::int64_t arrival_ps{};
  std::int64_t service_ps{};
};

/// When each request ends. Pre: arrivals ascend.
std::vector<std::int64_t> ends(shared_port& port, std::vector<request> const& requests) {
  port.reset();
  std::vector<std::int64_t> end(requests.size());
  std::size_t next = 0;
  while (next < requests.size() || port.next_ps() != never) {
    if (next < requests.size() && requests[next].arrival_ps <= port.next_ps()) {
      port.add(requests[next].arrival_ps, requests[next].service_ps, static_cast<std::uint32_t>(next));
      ++next;
    } else {
      std::int64_t const now = port.next_ps();
      port.finish(now, [&](std::uint32_t id) { end[id] = now; });
    }
  }
  return end;
}

/// The same in floating point, one transfer at a time: the definition of equal sharing.
std::vector<double> reference_ends(std::vector<request> const& requests) {
  std::vector<double> left;
  std::vector<double> end(requests.size(), -1);
  double now = 0;
  std::size_t arrived = 0;
  for (;;) {
    std::vector<std::size_t> active;
    for (std::size_t i = 0; i < arrived; ++i) {
      if (end[i] < 0) active.push_back(i);
    }
    double const arrival = arrived < requests.size() ? static_cast<double>(requests[arrived].arrival_ps) : 1e300;
    double first = 1e300;
    for (std::size_t const i : active) {
      first = std::min(first, now + left[i] * static_cast<double>(active.size()));
    }
    double const then = std::min(arrival, first);
    if (then == 1e300) return end;
    for (std::size_t const i : active) {
      left[i] -= (then - now) / static_cast<double>(active.size());
      if (first <= arrival && left[i] < 1e-6) end[i] = then;
    }
    now = then;
    if (arrival < first) {
      left.push_back(static_cast<double>(requests[arrived++].service_ps));
    }
  }
}

std::vector<request> random_requests(random_bits& bits) {
  std::vector<request> requests(static_cast<std::size_t>(bits.between(1, 30)));
  for (request& r : requests) {
    r = {bits.between(0, 20'000), bits.between(1, 5'000)};
  }
  std::ranges::sort(requests, {}, &request::arrival_ps);
  return requests;
}

}  // namespace

TEST_CASE("a transfer alone takes its own time") {
  shared_port port;
  CHECK(port.next_ps() == never);
  CHECK(ends(port, {{100, 30}, {200, 7}}) == std::vector<std::int64_t>{130, 207});
  CHECK(port.busy_ps() == 37);
}

TEST_CASE("transfers that start together end exactly when equal shares are used up") {
  shared_port port;
  // Three share until the first has its 10, two until the second has its 25, then one.
  CHECK(ends(port, {{5, 25}, {5, 10}, {5, 70}}) == std::vector<std::int64_t>{5 + 60, 5 + 30, 5 + 105});
  CHECK(ends(port, {{0, 40}, {0, 40}, {0, 40}}) == std::vector<std::int64_t>{120, 120, 120});
}

TEST_CASE("a later arrival takes half of what is left") {
  shared_port port;
  // 60 alone until 40; then both at half: the 20 left take 40 ps.
  CHECK(ends(port, {{0, 60}, {40, 30}}) == std::vector<std::int64_t>{80, 90});
}

TEST_CASE("random arrivals end within a few picoseconds of the fluid model, and never before it") {
  random_bits bits(11);
  shared_port port;
  for (int round = 0; round < 300; ++round) {
    std::vector<request> const requests = random_requests(bits);
    std::vector<std::int64_t> const got = ends(port, requests);
    std::vector<double> const expected = reference_ends(requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      CHECK(static_cast<double>(got[i]) >= expected[i] - 1e-3);
      CHECK(static_cast<double>(got[i]) <= expected[i] + 3 * static_cast<double>(requests.size()));
    }
  }
}

TEST_CASE("a port serves all that arrives and is never faster than its bandwidth") {
  random_bits bits(12);
  shared_port port;
  for (int round = 0; round < 300; ++round) {
    std::vector<request> const requests = random_requests(bits);
    std::int64_t asked = 0;
    for (request const& r : requests) {
      asked += r.service_ps;
    }
    ends(port, requests);
    CHECK(port.busy_ps() >= asked);
    CHECK(port.busy_ps() <= asked + static_cast<std::int64_t>(2 * requests.size()));
  }
}
