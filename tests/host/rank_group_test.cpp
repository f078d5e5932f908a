#include <libra/host/rank_group.hpp>
#include <libra/host/transport.hpp>

#include <libra/core/error.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using libra::rank_id;
using libra::host::rank_group;
using libra::host::transport;

TEST_CASE("every rank runs once, and a group may run again") {
  rank_group group(9);
  for (int turn = 1; turn <= 3; ++turn) {
    std::vector<int> ran(9);
    run_ranks(group, [&](rank_id rank) {
      transport t(group, rank);
      t.gather({}, {});  // All at once: nobody gets past it alone.
      ++ran[rank.index()];
    });
    CHECK(ran == std::vector<int>(9, 1));
    CHECK_FALSE(group.failed());
  }
}

TEST_CASE("what the first rank to fail threw is thrown, with its own type") {
  rank_group group(5);
  std::atomic<int> told{0};
  CHECK_THROWS_WITH_AS(run_ranks(group,
                                 [&](rank_id rank) {
                                   if (rank.value == 3) {
                                     throw std::out_of_range("beyond");
                                   }
                                   try {
                                     transport(group, rank).gather({}, {});
                                   } catch (libra::run_error const& e) {
                                     told += std::string(e.what()) == "rank 3 failed: beyond";
                                     throw;
                                   }
                                 }),
                       "beyond", std::out_of_range);
  CHECK(told == 4);
  CHECK(group.failed());
}

TEST_CASE("an exception of any type makes the others throw") {
  rank_group group(2);
  CHECK_THROWS_AS(run_ranks(group,
                            [&](rank_id rank) {
                              if (rank.value == 1) {
                                throw 7;
                              }
                              CHECK_THROWS_WITH_AS(transport(group, rank).gather({}, {}),
                                                   "rank 1 failed: unknown exception", libra::run_error);
                            }),
                  int);
}

TEST_CASE("a failed group stays failed") {
  rank_group group(2);
  CHECK_THROWS_AS(run_ranks(group, [](rank_id) { throw std::runtime_error("broken"); }), std::runtime_error);
  CHECK_THROWS_AS(run_ranks(group, [&](rank_id rank) { transport(group, rank).gather({}, {}); }), libra::run_error);
}

TEST_CASE("far more ranks than cores do") {
  rank_group group(100);
  std::atomic<int> ran{0};
  run_ranks(group, [&](rank_id rank) {
    transport(group, rank).gather({}, {});
    ++ran;
  });
  CHECK(ran == 100);
}

TEST_CASE("a group has at least one rank") {
  CHECK_THROWS_WITH_AS(rank_group(0), "rank group has 0 ranks, expected at least 1", libra::input_error);
}

}  // namespace
