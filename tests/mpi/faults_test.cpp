#include "conformance/pool_case.hpp"
#include "mpi/ranks.hpp"

#include <libra/core/error.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/mpi/backend.hpp>
#include <libra/run/pooled_attention.hpp>

#include <doctest/doctest.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using libra::incoming;
using libra::queue;
using libra::rank_id;
using libra::mpi::transport;
using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

/// Far above what a failure needs to get around, far below a hang.
constexpr double bounded_seconds = 20;

TEST_CASE("after an abort every rank throws its reason, in calls that wait and in later ones") {
  std::int32_t const world = pool_of::world();
  for (std::int32_t failing = 0; failing < world; failing += 3) {
    transport t(MPI_COMM_WORLD);
    auto const begin = clock::now();
    std::array<std::byte, 4> memory{};
    std::string const expected = "rank " + std::to_string(failing) + " failed: out of paper";
    if (t.rank().value == failing) {
      t.abort("out of paper");
      t.abort("out of ink");
      CHECK_THROWS_WITH_AS(t.gather({}, {}), "out of paper", libra::run_error);
    } else if (t.rank().value % 2 == 0) {
      std::array const receives{incoming{rank_id(failing), {memory.data(), 1, 4, 4}}};
      transport::ticket ticket;
      auto const receive = [&] {
        ticket = t.start({queue::fetch, 0, {}, receives});  // The failure may have been heard already.
        t.wait(ticket);
      };
      CHECK_THROWS_WITH_AS(receive(), expected.c_str(), libra::run_error);
    } else {
      CHECK_THROWS_WITH_AS(t.gather({}, {}), expected.c_str(), libra::run_error);
    }
    CHECK_THROWS_AS((void)t.start({queue::fetch, 1, {}, {}}), libra::run_error);
    CHECK(seconds_since(begin) < bounded_seconds);
  }
}

TEST_CASE("a rank that is late beyond the timeout fails the pool, itself included") {
  std::int32_t const world = pool_of::world();
  transport t(MPI_COMM_WORLD, {.timeout = std::chrono::milliseconds(300)});
  std::string what;
  auto const begin = clock::now();
  try {
    if (t.rank().value == world - 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(900));
    }
    t.gather({}, {});
  } catch (libra::run_error const& e) {
    what = e.what();
  }
  CHECK(what.find("gather: rank ") != std::string::npos);
  CHECK(what.find(" has waited 300 ms for rank " + std::to_string(world - 1)) != std::string::npos);
  CHECK(seconds_since(begin) < bounded_seconds);
}

TEST_CASE("a rank that only computes for longer than the timeout is no failure as long as something arrives") {
  transport t(MPI_COMM_WORLD, {.timeout = std::chrono::milliseconds(2000)});
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(t.rank().value == 0 ? 50 : 1));
    t.gather({}, {});
  }
}

TEST_CASE("a rank that cannot make its operator makes the others throw why") {
  std::int32_t const world = pool_of::world();
  libra::pool_batch batch;
  batch.shape = {4, 2, 16, {}};
  batch.home = {64, 1};
  batch.slots = world;
  batch.segments.push_back({{libra::document_id(0), 0, 64}, libra::sequence_id(0), libra::slot_id(0), 0});
  auto const plan = conformance::plan(batch, libra::pooled{}, {.width = libra::host::kernel::width});
  libra::mpi::backend parts(MPI_COMM_WORLD);
  bool const fails = parts.transport().rank().value == world - 1;
  std::string what;
  auto const begin = clock::now();
  try {
    libra::pooled_attention attention(parts, fails ? nullptr : plan);
    attention.agree();
  } catch (libra::error const& e) {
    what = e.message();
  }
  CHECK(what == (fails ? "" : "rank " + std::to_string(world - 1) + " failed: ") + "plan is null");
  CHECK(seconds_since(begin) < bounded_seconds);
}

}  // namespace
