#include <libra/sim/engine.hpp>

#include <libra/core/error.hpp>
#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/program/lowering.hpp>

#include <sim/hand_written.hpp>

#include <doctest/doctest.h>

#include <string>

using libra::queue;
using libra::rank_id;
using libra::sim::engine;
using libra::sim::op_span;
using libra::sim::pool_timing;
using libra::sim::port;
using libra::sim::test::hand_written;
using libra::sim::test::parcel;
using libra::sim::test::plain_machine;
using libra::sim::test::row_time;

namespace {

pool_timing run(hand_written const& what, libra::machine const& rates = plain_machine()) {
  engine e;
  return e.run(what.batch, what.programs, rates, row_time{});
}

}  // namespace

TEST_CASE("one transfer between two ranks takes the latency and its bytes") {
  hand_written two(2);
  two.exchange(0, queue::fetch, 0, {{1, 4000}}, {}).exchange(1, queue::fetch, 0, {}, {{0, 4000}});
  pool_timing const in_node = run(two);
  CHECK(in_node.makespan_ps == 700 + 4000);
  CHECK(in_node.ranks[0].of(port::node_send).bytes == 4000);
  CHECK(in_node.ranks[1].of(port::node_receive).bytes == 4000);
  CHECK(in_node.ranks[1].wire_ps() == 4000);
  CHECK(in_node.ranks[0].exchange_busy_ps == 4700);

  pool_timing const between = run(two, plain_machine(1));
  CHECK(between.makespan_ps == 3000 + 40'000);
  CHECK(between.ranks[0].of(port::network_send).bytes == 4000);
  CHECK(between.ranks[0].of(port::node_send).bytes == 0);
}

TEST_CASE("a transfer starts when both of its ranks are ready") {
  hand_written two(2);
  two.compute(1, 5000);
  two.exchange(0, queue::fetch, 0, {{1, 400}}, {}).exchange(1, queue::fetch, 0, {}, {{0, 400}}, 1);
  engine e;
  CHECK(e.run(two.batch, two.programs, plain_machine(), row_time{}).makespan_ps == 5000 + 700 + 400);
  CHECK(e.spans(rank_id(0))[0] == op_span{0, 6100});
  CHECK(e.spans(rank_id(1))[0] == op_span{0, 5000});
  CHECK(e.spans(rank_id(1))[1] == op_span{5000, 6100});
}

TEST_CASE("two senders share a receiving port, and the smaller transfer ends first") {
  hand_written three(3);
  three.exchange(0, queue::fetch, 0, {{2, 1000}}, {});
  three.exchange(1, queue::fetch, 0, {{2, 3000}}, {});
  three.exchange(2, queue::fetch, 0, {}, {{0, 1000}, {1, 3000}});
  engine e;
  pool_timing const t = e.run(three.batch, three.programs, plain_machine(), row_time{});
  CHECK(e.spans(rank_id(0))[0].end_ps == 700 + 2000);
  CHECK(e.spans(rank_id(1))[0].end_ps == 700 + 4000);
  CHECK(t.makespan_ps == 700 + 4000);
  CHECK(t.ranks[2].wire_ps() == 4000);
}

TEST_CASE("one sender shares its port among receivers") {
  hand_written three(3);
  three.exchange(0, queue::fetch, 0, {{1, 1000}, {2, 3000}}, {});
  three.exchange(1, queue::fetch, 0, {}, {{0, 1000}});
  three.exchange(2, queue::fetch, 0, {}, {{0, 3000}});
  engine e;
  CHECK(e.run(three.batch, three.programs, plain_machine(), row_time{}).makespan_ps == 4700);
  CHECK(e.spans(rank_id(1))[0].end_ps == 2700);
}

TEST_CASE("directions and kinds of peers have ports of their own") {
  // Rank 0 sends to and receives from its node's rank 1 and to and from rank 2 in the other node, all at once.
  hand_written four(4);
  four.exchange(0, queue::fetch, 0, {{1, 5000}, {2, 500}}, {{1, 5000}, {2, 500}});
  four.exchange(1, queue::fetch, 0, {{0, 5000}}, {{0, 5000}});
  four.exchange(2, queue::fetch, 0, {{0, 500}}, {{0, 500}});
  CHECK(run(four, plain_machine(2)).makespan_ps == 3000 + 5000);
}

TEST_CASE("the latency is the network's for a rank with a peer in another node") {
  hand_written three(3);
  three.exchange(0, queue::fetch, 0, {{1, 40}}, {});
  three.exchange(1, queue::fetch, 0, {{2, 4}}, {{0, 40}});
  three.exchange(2, queue::fetch, 0, {}, {{1, 4}});
  engine e;
  CHECK(e.run(three.batch, three.programs, plain_machine(2), row_time{}).makespan_ps == 3000 + 40);
  CHECK(e.spans(rank_id(0))[0].end_ps == 3040);
}

TEST_CASE("one rank sends one rank of another node no more than their connection carries") {
  libra::machine joined = plain_machine(2);
  joined.peer_bytes_per_second = 40'000'000'000;  // 25 ps a byte, where the port takes 10
  hand_written pair(4);
  pair.exchange(0, queue::fetch, 0, {{2, 400}}, {}).exchange(2, queue::fetch, 0, {}, {{0, 400}});
  CHECK(run(pair, joined).makespan_ps == 3000 + 400 * 25);
  // Three peers share what the port carries, which is less than their connections do.
  hand_written three(6);
  three.exchange(0, queue::fetch, 0, {{2, 400}, {3, 400}, {4, 400}}, {});
  for (std::int32_t const peer : {2, 3, 4}) {
    three.exchange(peer, queue::fetch, 0, {}, {{0, 400}});
  }
  CHECK(run(three, joined).makespan_ps == 3000 + 1200 * 10);
  // Nothing limits peers of the own node, nor a limit above the port.
  hand_written near(2);
  near.exchange(0, queue::fetch, 0, {{1, 4000}}, {}).exchange(1, queue::fetch, 0, {}, {{0, 4000}});
  CHECK(run(near, joined).makespan_ps == 700 + 4000);
  joined.peer_bytes_per_second = 100'000'000'001;
  CHECK(run(pair, joined) == run(pair, plain_machine(2)));
}

TEST_CASE("a balanced all-to-all takes the bytes of one port") {
  for (std::int32_t const n : {2, 4, 8}) {
    hand_written all(n);
    for (std::int32_t r = 0; r < n; ++r) {
      std::vector<parcel> peers;
      for (std::int32_t p = 0; p < n; ++p) {
        peers.push_back({p, 1000});
      }
      all.exchange(r, queue::fetch, 0, peers, peers);
    }
    CHECK(run(all).makespan_ps == 700 + (n - 1) * 1000);
  }
}

TEST_CASE("Ulysses over a sequence that fills its ranks: rows in, computing, rows out") {
  for (std::int32_t const n : {2, 4, 8}) {
    std::int64_t const rows = 256;
    std::int64_t const length = rows * n;
    libra::pool_batch const batch{.shape = {.q_heads = n, .kv_heads = n, .head_dim = 16, .mask = {}},
                                  .home = {.window_tokens = length, .cp = n},
                                  .slots = 1,
                                  .segments = {{{libra::document_id(0), 0, length}, {}, libra::slot_id(0), 0}}};
    auto const dispatch = libra::ulysses{}(batch, libra::pair_count{}, {});
    // One byte takes one picosecond; a rank exchanges one head of its rows with each other rank.
    std::int64_t const channels = 16 * 2;
    auto const took = [&](libra::pass p, bool kept) {
      libra::pool_program const programs =
          libra::lower(batch, dispatch.of(p), p, {.width = {}, .waves = 1, .ranks_per_node = 8, .keep_inputs = kept});
      engine e;
      return e.run(batch, programs, plain_machine(), row_time{}).makespan_ps;
    };
    std::int64_t const others = (n - 1) * rows;
    std::int64_t const in = others * 3 * channels;
    std::int64_t const out = others * (channels + 4);
    CHECK(took(libra::pass::forward, false) == 700 + in + length + 700 + out);
    // Backward: q, k, v, d_o, lse and delta in, unless the first three are there; dq, and fp32 dk and dv out.
    std::int64_t const gradients = others * (channels + 8);
    std::int64_t const sums = others * (channels + 2 * 2 * channels);
    CHECK(took(libra::pass::backward, false) == 700 + in + gradients + length + 700 + sums);
    CHECK(took(libra::pass::backward, true) == 700 + gradients + length + 700 + sums);
  }
}

TEST_CASE("a ring of four overlaps each step's transfer with the computing of the one before") {
  // Every rank computes on its own block, while the next one travels; three rounds.
  for (std::int64_t const compute_ps : {500, 5000}) {
    hand_written ring(4);
    for (std::int32_t r = 0; r < 4; ++r) {
      ring.compute(r, compute_ps);
      for (std::int32_t step = 0; step < 3; ++step) {
        ring.exchange(r, queue::fetch, step, {{(r + 1) % 4, 2000}}, {{(r + 3) % 4, 2000}});
        ring.compute(r, compute_ps, step + 1);
      }
    }
    std::int64_t const hop = 700 + 2000;
    CHECK(run(ring).makespan_ps == (compute_ps > hop ? 4 * compute_ps : 3 * hop + compute_ps));
  }
}

TEST_CASE("queues of a rank run concurrently and share its ports") {
  hand_written two(2);
  for (queue const q : {queue::fetch, queue::deliver}) {
    two.exchange(0, q, 0, {{1, 1000}}, {}).exchange(1, q, 0, {}, {{0, 1000}});
  }
  two.compute(0, 9000);
  pool_timing const t = run(two);
  CHECK(t.makespan_ps == 9000);
  CHECK(t.ranks[1].end_ps == 700 + 2000);
  CHECK(t.ranks[0].compute_busy_ps == 9000);
  CHECK(t.ranks[0].exchange_busy_ps == 2700);
}

TEST_CASE("what is added up waits for its parts, while tiles are computed, and is not slowed by exchanges") {
  hand_written two(2);
  two.exchange(0, queue::deliver, 0, {{1, 1000}}, {}).exchange(1, queue::deliver, 0, {}, {{0, 1000}});
  two.compute(1, 9000).combine(1, 10, 1);
  two.exchange(0, queue::deliver, 1, {{1, 4000}}, {}).exchange(1, queue::deliver, 1, {}, {{0, 4000}});
  libra::machine m = plain_machine();
  m.memory_bytes_per_second = 1'000'000'000'000;
  m.sm_factor_permille = 1100;
  engine e;
  pool_timing const t = e.run(two.batch, two.programs, m, row_time{});
  CHECK(e.spans(rank_id(1))[2].start_ps == 1700);
  CHECK(e.spans(rank_id(1))[2].duration_ps() == 960);
  CHECK(t.ranks[1].compute_busy_ps >= 9000 + (1700 + 4700) / 11);
  CHECK(t.ranks[1].compute_busy_ps <= 9000 + (1700 + 4700) / 11 + 3);  // rounded up whenever an exchange ends
  CHECK(t.makespan_ps == t.ranks[1].compute_busy_ps);
}

TEST_CASE("rounds of a queue follow one another") {
  hand_written two(2);
  for (std::int32_t round = 0; round < 3; ++round) {
    two.exchange(0, queue::fetch, round, {{1, 1000}}, {}).exchange(1, queue::fetch, round, {}, {{0, 1000}});
  }
  CHECK(run(two).makespan_ps == 3 * 1700);
}

TEST_CASE("copies inside a rank and rounds without transfers take no wire") {
  hand_written two(2);
  two.exchange(0, queue::fetch, 0, {{0, 4000}}, {{0, 4000}});
  two.compute(0, 10, 1);
  two.exchange(0, queue::deliver, 0, {}, {}, 1);
  pool_timing const t = run(two);
  CHECK(t.makespan_ps == 10);
  CHECK(t.ranks[0].bytes_sent() == 0);
  CHECK(t.ranks[0].exchange_busy_ps == 0);
  CHECK(t.ranks[1].end_ps == 0);
}

TEST_CASE("rows of single heads are copied before the latency and after the last flow") {
  hand_written two(2);
  two.batch.shape.q_heads = 2;
  two.exchange(0, queue::fetch, 0, {{1, 400}}, {}).exchange(1, queue::fetch, 0, {}, {{0, 400}});
  for (libra::program& p : two.programs.ranks) {
    for (auto* all : {&p.sends, &p.receives}) {
      for (libra::transfer& t : *all) {
        t.at = libra::location::home(0);
      }
    }
  }
  libra::machine rates = plain_machine();
  rates.memory_bytes_per_second = 1'000'000'000'000;
  engine clock;
  // 400 bytes read and written at each end, a latency of 700 and 400 on the wire.
  auto const timing = clock.run(two.batch, two.programs, rates, row_time{});
  CHECK(timing.ranks[0].end_ps == 800 + 700 + 400);
  CHECK(timing.makespan_ps == 800 + 700 + 400 + 800);

  hand_written one(1);
  one.batch.shape.q_heads = 2;
  one.exchange(0, queue::fetch, 0, {{0, 400}}, {{0, 400}});
  one.programs.ranks[0].sends[0].at = libra::location::home(0);
  CHECK(clock.run(one.batch, one.programs, rates, row_time{}).makespan_ps == 800);
}

TEST_CASE("sm_factor slows computing while the rank exchanges, and only then") {
  hand_written two(2);
  two.exchange(0, queue::fetch, 0, {{1, 1400}}, {}).exchange(1, queue::fetch, 0, {}, {{0, 1400}});
  two.compute(0, 5000);
  libra::machine rates = plain_machine();
  rates.sm_factor_permille = 1500;
  // 2,100 ps of exchange do 1,400 ps of work.
  pool_timing const t = run(two, rates);
  CHECK(t.ranks[0].compute_busy_ps == 2100 + 3600);
  CHECK(t.makespan_ps == 5700);
}

TEST_CASE("one engine runs many pools, and each as if it were the first") {
  hand_written two(2);
  two.exchange(0, queue::fetch, 0, {{1, 4000}}, {}).exchange(1, queue::fetch, 0, {}, {{0, 4000}});
  two.compute(1, 100, 1);
  hand_written one(1);
  one.compute(0, 7);
  engine e;
  pool_timing const first = e.run(two.batch, two.programs, plain_machine(), row_time{});
  CHECK(e.run(one.batch, one.programs, plain_machine(), row_time{}).makespan_ps == 7);
  CHECK(e.run(two.batch, two.programs, plain_machine(), row_time{}) == first);
}

TEST_CASE("a program that cannot end is an error that names the op") {
  hand_written never(1);
  never.compute(0, 10, 1);
  CHECK_THROWS_WITH_AS(run(never), "op 0 of rank 0 (attend on queue compute) never starts", libra::run_error);

  hand_written lonely(2);
  lonely.exchange(0, queue::fetch, 0, {{1, 4}}, {});
  CHECK_THROWS_WITH_AS(run(lonely), "rank 0 sends to rank 1 in round 0 of queue fetch, in which rank 1 has no exchange",
                       libra::run_error);
}

TEST_CASE("an op on a queue that is not its kind's is an error") {
  hand_written wrong(1);
  wrong.exchange(0, queue::compute, 0, {}, {});
  CHECK_THROWS_AS(run(wrong), libra::input_error);
  hand_written sum(1);
  sum.combine(0, 1);
  sum.programs.ranks[0].ops[0].on = queue::deliver;
  CHECK_THROWS_AS(run(sum), libra::input_error);
}

TEST_CASE("a slow rank computes longer, and exchanges as others do") {
  hand_written two(2);
  two.compute(0, 300).compute(1, 300);
  two.exchange(0, queue::fetch, 0, {{1, 4000}}, {}).exchange(1, queue::fetch, 0, {}, {{0, 4000}});
  two.batch.speeds_permille = {400, 3000};
  engine e;
  pool_timing const t = e.run(two.batch, two.programs, plain_machine(), row_time{});
  CHECK(t.ranks[0].compute_busy_ps == 750);
  CHECK(t.ranks[1].compute_busy_ps == 100);
  CHECK(t.makespan_ps == 4700);
}
