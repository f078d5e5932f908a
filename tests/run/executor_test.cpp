#include "run/doubles.hpp"

#include <libra/run/executor.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

using doubles::journal;
using libra::location;
using libra::op;
using libra::op_kind;
using libra::op_step;
using libra::queue;
using libra::tensor;

constexpr libra::rank_id rank0{0};

op fetch(std::int32_t round, std::int32_t after_compute = 0) {
  return {.kind = op_kind::exchange,
          .on = queue::fetch,
          .round = round,
          .after = {0, after_compute, 0},
          .items = {},
          .receives = {}};
}
op deliver(std::int32_t round, std::int32_t after_compute = 0) {
  return {.kind = op_kind::exchange,
          .on = queue::deliver,
          .round = round,
          .after = {0, after_compute, 0},
          .items = {},
          .receives = {}};
}
op attend(std::int32_t after_fetch = 0, std::int32_t after_deliver = 0) {
  return {.kind = op_kind::attend,
          .on = queue::compute,
          .round = 0,
          .after = {after_fetch, 0, after_deliver},
          .items = {},
          .receives = {}};
}

libra::pool_program pool_of(std::vector<std::vector<op>> ranks) {
  libra::pool_program pool;
  for (auto& ops : ranks) {
    pool.ranks.emplace_back();
    pool.ranks.back().ops = std::move(ops);
  }
  return pool;
}

struct fixture {
  journal log;
  doubles::transport transport{.log = &log, .self = {}, .size = 1, .tests_finish = false, .sends = {}, .receives = {}};
  doubles::kernel kernel{.log = &log, .scale = 0};
  libra::bindings at{libra::attention_shape{.q_heads = 2, .kv_heads = 1, .head_dim = 16, .mask = {}}, {4, 4, 4}, 8};

  void run(libra::pool_program const& pool) {
    libra::executor<doubles::transport::ticket>(pool, rank0).run(transport, kernel, at);
  }
};

TEST_CASE_FIXTURE(fixture, "an exchange is started where it is listed and waited for where it is needed") {
  run(pool_of({{fetch(0), attend(), attend(1), deliver(0, 2)}}));
  CHECK(log == journal{"start fetch 0", "attend 0", "wait fetch 0", "attend 0", "start deliver 0", "wait deliver 0"});
}

TEST_CASE_FIXTURE(fixture, "a queue finishes one exchange before it starts the next") {
  run(pool_of({{fetch(0), fetch(1), attend()}}));
  CHECK(log == journal{"start fetch 0", "wait fetch 0", "start fetch 1", "attend 0", "wait fetch 1"});
}

TEST_CASE_FIXTURE(fixture, "the two exchange queues do not wait for each other") {
  run(pool_of({{attend(), deliver(0, 1), fetch(0), attend(1), deliver(1, 2)}}));
  // Round 0 of fetch waits for nothing and starts before the list comes to it.
  CHECK(log == journal{"attend 0", "start fetch 0", "start deliver 0", "wait fetch 0", "attend 0", "wait deliver 0",
                       "start deliver 1", "wait deliver 1"});
}

TEST_CASE_FIXTURE(fixture, "a kernel waits for the delivery whose memory it overwrites") {
  run(pool_of({{attend(), deliver(0, 1), attend(), attend(0, 1)}}));
  CHECK(log == journal{"attend 0", "start deliver 0", "attend 0", "wait deliver 0", "attend 0"});
}

TEST_CASE_FIXTURE(fixture, "an exchange that finishes while the rank computes is not waited for") {
  transport.tests_finish = true;
  run(pool_of({{fetch(0), attend(), attend(1)}}));
  CHECK(log == journal{"start fetch 0", "attend 0", "attend 0"});
}

/// Calls the hook twice in each batch of tiles.
struct polling_kernel : doubles::kernel {
  void attend(std::span<libra::tile_task const> t, libra::bindings const& at, libra::progress_hook poll = {}) {
    doubles::kernel::attend(t, at);
    poll();
    poll();
    log->push_back("attended");
  }
  void attend_backward(std::span<libra::tile_task const> t, libra::bindings const& at, libra::progress_hook = {}) {
    doubles::kernel::attend_backward(t, at);
  }
};
static_assert(libra::polling_kernel<polling_kernel>);
static_assert(!libra::polling_kernel<doubles::kernel>);

TEST_CASE_FIXTURE(fixture, "while a kernel computes, exchanges finish and those that wait for nothing more start") {
  transport.tests_finish = true;
  polling_kernel polling;
  polling.log = &log;
  libra::pool_program const pool = pool_of({{fetch(0), attend(), attend(1), fetch(1), fetch(2, 2), attend(3)}});
  libra::executor<doubles::transport::ticket>(pool, rank0).run(transport, polling, at);
  // Round 1 needs round 0 only and starts in the first batch; round 2 needs two batches.
  CHECK(log == journal{"start fetch 0", "attend 0", "start fetch 1", "attended", "attend 0", "attended",
                       "start fetch 2", "wait fetch 2", "attend 0", "attended"});
}

TEST_CASE_FIXTURE(fixture, "rounds that only others need are started empty") {
  run(pool_of({{fetch(1), attend(1)}, {fetch(0), fetch(1), fetch(2), deliver(0)}}));
  CHECK(log == journal{"start fetch 0", "wait fetch 0", "start fetch 1", "wait fetch 1", "attend 0", "start fetch 2",
                       "wait fetch 2", "start deliver 0", "wait deliver 0"});
}

TEST_CASE_FIXTURE(fixture, "every kind of op reaches the kernel with its items") {
  libra::pool_program pool = pool_of({{}});
  libra::program& p = pool.ranks[0];
  p.tiles.resize(3);
  p.dots.resize(2);
  p.clears.resize(5);
  p.reduces.resize(1);
  p.partials.resize(4);
  auto const on_compute = [](op_kind kind, std::uint32_t begin, std::uint32_t end) {
    return op{.kind = kind, .on = queue::compute, .round = 0, .after = {}, .items = {begin, end}, .receives = {}};
  };
  p.ops = {on_compute(op_kind::row_dot, 0, 2), on_compute(op_kind::clear, 1, 5), on_compute(op_kind::attend, 0, 1),
           on_compute(op_kind::attend_backward, 1, 3), on_compute(op_kind::reduce, 0, 1)};
  run(pool);
  CHECK(log == journal{"row_dot 2", "clear 4", "attend 1", "attend_backward 2", "reduce 1 of 4"});
}

TEST_CASE_FIXTURE(fixture, "transfers reach the transport as rows of this call's memory") {
  std::array<std::byte, 8 * 2 * 64> home{};
  std::array<std::byte, 1024> work{};
  libra::pool_program pool = pool_of({{fetch(0)}});
  libra::program& p = pool.ranks[0];
  p.sends = {{{tensor::q, libra::segment_id(0), 1, 2, {0, 3}}, libra::rank_id(2), location::home(4)}};
  p.receives = {{{tensor::k, libra::segment_id(0), 0, 1, {0, 5}}, libra::rank_id(1), location::workspace(64)}};
  p.ops[0].items = {0, 1};
  p.ops[0].receives = {0, 1};
  at.input(tensor::q, home.data()).workspace(work.data(), std::ssize(work));
  run(pool);
  REQUIRE(transport.sends.size() == 1);
  CHECK(transport.sends[0].to == libra::rank_id(2));
  CHECK(transport.sends[0].rows == libra::const_rows{home.data() + (4 * 2 + 1) * 64, 3, 64, 128});
  REQUIRE(transport.receives.size() == 1);
  CHECK(transport.receives[0].from == libra::rank_id(1));
  CHECK(transport.receives[0].rows == libra::mutable_rows{work.data() + 64, 5, 64, 64});
}

TEST_CASE_FIXTURE(fixture, "a program that waits for what comes later is an error that names the op") {
  CHECK_THROWS_WITH_AS(run(pool_of({{fetch(0), attend(2), fetch(1)}})),
                       "op 1 (attend) waits for 2 ops of queue fetch, of which 1 come before it", libra::run_error);
}

TEST_CASE_FIXTURE(fixture, "a rank without a program is an error that names it") {
  CHECK_THROWS_WITH_AS(libra::executor<doubles::transport::ticket>(pool_of({{}}), libra::rank_id(3)),
                       "no program for rank 3 in a pool of 1 ranks", libra::run_error);
}

TEST_CASE_FIXTURE(fixture, "an observer is told when each op starts, blocks and finishes") {
  libra::pool_program const pool = pool_of({{fetch(0), attend(), attend(1), deliver(0, 2)}});
  libra::executor<doubles::transport::ticket> executor(pool, rank0);
  journal told;
  auto const observer = [&](op const& o, op_step step) {
    static constexpr std::array<char const*, 3> names{"starts", "blocks", "finishes"};
    told.push_back(libra::message(name_of(o.kind), " ", name_of(o.on), " ", names[static_cast<std::size_t>(step)]));
  };
  executor.run(transport, kernel, at, observer);
  CHECK(told == journal{"exchange fetch starts", "attend compute starts", "attend compute finishes",
                        "exchange fetch blocks", "exchange fetch finishes", "attend compute starts",
                        "attend compute finishes", "exchange deliver starts", "exchange deliver blocks",
                        "exchange deliver finishes"});
}

TEST_CASE_FIXTURE(fixture, "a second run repeats the first") {
  libra::pool_program const pool = pool_of({{fetch(0), attend(1), deliver(0, 1)}});
  libra::executor<doubles::transport::ticket> executor(pool, rank0);
  executor.run(transport, kernel, at);
  journal const first = std::exchange(log, {});
  executor.run(transport, kernel, at);
  CHECK(log == first);
}

}  // namespace
