#include <libra/host/transport.hpp>

#include <libra/core/error.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using libra::incoming;
using libra::queue;
using libra::rank_id;
using libra::host::rank_group;
using libra::host::transport;
using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

/// Far above what a failure needs to get around, far below a hang.
constexpr double bounded_seconds = 20;

/// What each rank threw.
template <class Body>
std::vector<std::string> what_ranks_throw(rank_group& group, Body body) {
  std::vector<std::string> thrown(static_cast<std::size_t>(group.size()));
  auto const begin = clock::now();
  CHECK_THROWS(run_ranks(group, [&](rank_id rank) {
    transport t(group, rank);
    try {
      body(t);
    } catch (std::exception const& e) {
      thrown[rank.index()] = e.what();
      throw;
    }
  }));
  CHECK(seconds_since(begin) < bounded_seconds);
  return thrown;
}

TEST_CASE("whichever rank fails, every other rank throws its message, wherever it is") {
  std::array<std::byte, 4> memory{};
  for (std::int32_t failing = 0; failing < 4; ++failing) {
    rank_group group(4);
    auto const thrown = what_ranks_throw(group, [&](transport& t) {
      std::array const receives{incoming{rank_id(failing), {memory.data(), 1, 4, 4}}};
      if (t.rank().value == failing) {
        throw std::domain_error("out of paper");
      }
      if (t.rank().value % 2 == 0) {
        auto ticket = t.start({queue::fetch, 0, {}, receives});
        t.wait(ticket);
      } else {
        auto ticket = t.start({queue::deliver, 0, {}, {}});
        while (true) {
          std::this_thread::yield();
          static_cast<void>(t.test(ticket));
          t.wait(ticket);
          t.gather({}, {});
        }
      }
    });
    for (std::int32_t r = 0; r < 4; ++r) {
      CHECK(thrown[static_cast<std::size_t>(r)] ==
            (r == failing ? "out of paper" : libra::message("rank ", failing, " failed: out of paper")));
    }
  }
}

TEST_CASE("a rank that is late beyond the timeout fails the group, itself included") {
  rank_group group(3, {.timeout = std::chrono::milliseconds(50)});
  auto const thrown = what_ranks_throw(group, [&](transport& t) {
    if (t.rank().value == 2) {
      // Neither waiting nor gone: nobody can tell that it will come.
      while (!group.failed()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
    t.gather({}, {});
  });
  for (std::string const& what : thrown) {
    CHECK(what.find("waits in gather, and has waited 50 ms") != std::string::npos);
  }
  CHECK(thrown[2].starts_with("rank "));
}

TEST_CASE("the timeout names the round and the rank that is waited for") {
  std::array<std::byte, 4> memory{};
  rank_group group(2, {.timeout = std::chrono::milliseconds(50)});
  auto const thrown = what_ranks_throw(group, [&](transport& t) {
    if (t.rank().value == 0) {
      std::array const receives{incoming{rank_id(1), {memory.data(), 1, 4, 4}}};
      auto ticket = t.start({queue::fetch, 0, {}, receives});
      t.wait(ticket);
    }
    while (!group.failed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    t.gather({}, {});
  });
  CHECK(thrown[0] == "rank 0 waits in fetch round 0 for rank 1, and has waited 50 ms");
  CHECK(thrown[1] == "rank 0 failed: " + thrown[0]);
}

TEST_CASE("ranks that are slow but within the timeout do no harm") {
  rank_group group(3, {.timeout = std::chrono::milliseconds(10000)});
  run_ranks(group, [&](rank_id rank) {
    transport t(group, rank);
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(rank.value == 0 ? 20 : 1));
      t.gather({}, {});
    }
  });
  CHECK_FALSE(group.failed());
}

TEST_CASE("a timeout below one millisecond is refused") {
  CHECK_THROWS_WITH_AS(rank_group(2, {.timeout = std::chrono::milliseconds(0)}), "timeout is 0 ms, expected at least 1",
                       libra::input_error);
}

}  // namespace
