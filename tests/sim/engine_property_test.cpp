#include <libra/sim/engine.hpp>

#include <libra/core/random.hpp>
#include <libra/core/wide.hpp>

#include <sim/hand_written.hpp>
#include <support/random_cases.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using libra::machine;
using libra::pass;
using libra::pool_plan;
using libra::pool_program;
using libra::queue_count;
using libra::random_bits;
using libra::rank_id;
using libra::sim::engine;
using libra::sim::kernel_time;
using libra::sim::op_span;
using libra::sim::pool_timing;
using libra::sim::port;
using libra::sim::port_use;
using libra::sim::rank_timing;

namespace {

constexpr std::uint64_t cases = 250;

/// A machine on which the transfers and tiles of small cases take times of the same size.
machine random_machine(random_bits& bits) {
  machine m = libra::h200_sxm;
  m.links = {.ranks_per_node = static_cast<std::int32_t>(bits.between(1, 8)),
             .node_bytes_per_second = bits.between(1, 400) * 1'000'000'000,
             .network_bytes_per_second = bits.between(1, 48) * 1'000'000'000,
             .node_latency_ps = bits.between(0, 100'000),
             .network_latency_ps = bits.between(0, 300'000)};
  m.attention.forward_launch_ps = bits.between(0, 100'000);
  m.attention.backward_launch_ps = bits.between(0, 100'000);
  m.memory_bytes_per_second = bits.below(2) == 0 ? 0 : 3'000'000'000'000;
  m.peer_bytes_per_second = bits.below(2) == 0 ? 0 : bits.between(1, 48) * 1'000'000'000;
  return m;
}

/// One pool of a random plan, and a machine for it.
struct simulated_case {
  explicit simulated_case(std::uint64_t seed) : planning(libra::test::random_case(seed)) {
    random_bits bits(seed + 1'000'000);
    rates = random_machine(bits);
    libra::batch_plan const plan = planning.plan();
    auto const m = static_cast<std::int32_t>(bits.between(0, plan.placement.steps() - 1));
    auto const g = static_cast<std::int32_t>(bits.between(0, plan.pools.size() - 1));
    pool = planning.make_scheduler().plan_pool(plan, libra::micro_step_id(m), libra::pool_id(g));
  }

  pool_timing run(engine& clock, pass p, machine const& on) const {
    return clock.run(pool.batch, pool.of(p), on, kernel_time(on.attention));
  }

  libra::test::planning_case planning;
  machine rates;
  pool_plan pool;
};

/// Calls `check(case, pass)` for many cases, both passes.
template <class Check>
void for_each_case(Check check) {
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    simulated_case const c(seed);
    INFO(c.planning.describe());
    for (pass const p : {pass::forward, pass::backward}) {
      check(c, p);
    }
  }
}

std::int64_t carry_ps(std::int64_t bytes, std::int64_t bytes_per_second) {
  return static_cast<std::int64_t>(
      libra::ceil_div(static_cast<libra::int128>(bytes) * 1'000'000'000'000, bytes_per_second));
}

}  // namespace

TEST_CASE("bytes are conserved: each rank sends and receives what its program says") {
  engine clock;
  for_each_case([&](simulated_case const& c, pass p) {
    pool_timing const t = c.run(clock, p, c.rates);
    for (std::size_t r = 0; r < t.ranks.size(); ++r) {
      auto const sum = [&](std::vector<libra::transfer> const& transfers) {
        std::int64_t bytes = 0;
        for (libra::transfer const& x : transfers) {
          std::int64_t const row = libra::head_row_bytes(x.what.what, c.pool.batch.shape, c.pool.of(p).width);
          bytes += x.peer.index() == r ? 0 : x.what.tokens.size() * x.what.heads() * row;
        }
        return bytes;
      };
      CHECK(t.ranks[r].bytes_sent() == sum(c.pool.of(p).ranks[r].sends));
      CHECK(t.ranks[r].bytes_received() == sum(c.pool.of(p).ranks[r].receives));
    }
  });
}

TEST_CASE("a queue runs one op at a time, in order, and each op after what it waits for") {
  engine clock;
  for_each_case([&](simulated_case const& c, pass p) {
    c.run(clock, p, c.rates);
    for (std::size_t r = 0; r < c.pool.of(p).ranks.size(); ++r) {
      auto const& ops = c.pool.of(p).ranks[r].ops;
      std::span<op_span const> const spans = clock.spans(rank_id(r));
      REQUIRE(spans.size() == ops.size());
      // When the n-th op of each queue ended.
      std::array<std::vector<std::int64_t>, queue_count> ends;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        std::int64_t earliest = 0;
        for (std::size_t q = 0; q < queue_count; ++q) {
          bool const own = q == static_cast<std::size_t>(ops[i].on);
          std::size_t const count = own ? ends[q].size() : static_cast<std::size_t>(ops[i].after[q]);
          earliest = count == 0 ? earliest : std::max(earliest, ends[q][count - 1]);
        }
        // Nothing waits for what it need not.
        CHECK(spans[i].start_ps == earliest);
        CHECK(spans[i].end_ps >= spans[i].start_ps);
        ends[static_cast<std::size_t>(ops[i].on)].push_back(spans[i].end_ps);
      }
    }
  });
}

TEST_CASE("no rank ends before its computing, nor any port before its bytes are through") {
  engine clock;
  for_each_case([&](simulated_case const& c, pass p) {
    pool_timing const t = c.run(clock, p, c.rates);
    std::int64_t last = 0;
    for (rank_timing const& r : t.ranks) {
      for (port const x : {port::node_send, port::node_receive, port::network_send, port::network_receive}) {
        bool const node = x == port::node_send || x == port::node_receive;
        port_use const& use = r.of(x);
        CHECK(use.busy_ps >=
              carry_ps(use.bytes, node ? c.rates.links.node_bytes_per_second : c.rates.links.network_bytes_per_second));
        std::int64_t const latency = node ? c.rates.links.node_latency_ps : c.rates.links.network_latency_ps;
        CHECK(r.end_ps >= use.busy_ps + (use.bytes > 0 ? latency : 0));
      }
      CHECK(r.end_ps >= r.compute_busy_ps);
      CHECK(r.end_ps >= r.exchange_busy_ps);
      CHECK(r.exchange_busy_ps >= r.wire_ps());
      last = std::max(last, r.end_ps);
    }
    CHECK(t.makespan_ps == last);
  });
}

TEST_CASE("computing takes its ops' time at the rank's speed, and sm_factor only what exchanges overlap") {
  engine clock;
  for_each_case([&](simulated_case const& c, pass p) {
    pool_timing const plain = c.run(clock, p, c.rates);
    kernel_time const time(c.rates.attention);
    libra::sim::op_context<kernel_time> const context{c.pool.batch, p, c.pool.of(p).width, c.rates, time};
    machine slowed = c.rates;
    slowed.sm_factor_permille = 1060;
    pool_timing const slow = c.run(clock, p, slowed);
    for (std::size_t r = 0; r < plain.ranks.size(); ++r) {
      libra::program const& mine = c.pool.of(p).ranks[r];
      std::int64_t sum = 0;
      for (libra::op const& o : mine.ops) {
        libra::int128 const ps = o.on == libra::queue::compute ? op_time_ps(mine, o, context) : 0;
        sum += static_cast<std::int64_t>(libra::at_speed(ps, c.pool.batch.speed_of(libra::rank_id(r))));
      }
      CHECK(plain.ranks[r].compute_busy_ps == sum);
      auto const slack = static_cast<std::int64_t>(8 * mine.ops.size());
      CHECK(slow.ranks[r].compute_busy_ps >= sum);
      CHECK(slow.ranks[r].compute_busy_ps <= sum + slow.ranks[r].exchange_busy_ps * 60 / 1060 + slack);
    }
    CHECK(slow.makespan_ps <= plain.makespan_ps * 1060 / 1000 + 1000);
  });
}

TEST_CASE("a machine that is slower in everything takes as many times longer") {
  engine clock;
  for_each_case([&](simulated_case const& c, pass p) {
    machine fast = c.rates;
    fast.links.node_bytes_per_second *= 3;
    fast.links.network_bytes_per_second *= 3;
    fast.attention.forward_flop_per_second *= 3;
    fast.attention.backward_flop_per_second *= 3;
    fast.memory_bytes_per_second *= 3;
    fast.peer_bytes_per_second *= 3;
    machine slow = c.rates;
    slow.links.node_latency_ps *= 3;
    slow.links.network_latency_ps *= 3;
    for (std::int64_t* ps : {&slow.attention.forward_block_ps, &slow.attention.backward_block_ps,
                             &slow.attention.forward_launch_ps, &slow.attention.backward_launch_ps}) {
      *ps *= 3;
    }
    double const longer = static_cast<double>(c.run(clock, p, slow).makespan_ps);
    double const shorter = static_cast<double>(c.run(clock, p, fast).makespan_ps);
    // Every op and flow may be rounded by a few picoseconds, of which the small cases' times have many thousands.
    CHECK(longer == doctest::Approx(3 * shorter).epsilon(1e-3));
  });
}

TEST_CASE("a round that starts everywhere at once takes what its busiest port carries") {
  random_bits bits(4);
  engine clock;
  for (int round = 0; round < 300; ++round) {
    auto const ranks = static_cast<std::int32_t>(bits.between(2, 12));
    libra::sim::test::hand_written all(ranks);
    std::vector<std::int64_t> sent(static_cast<std::size_t>(ranks));
    std::vector<std::int64_t> received(sent.size());
    for (std::int32_t r = 0; r < ranks; ++r) {
      std::vector<libra::sim::test::parcel> sends;
      for (std::int32_t peer = 0; peer < ranks; ++peer) {
        if (peer != r && bits.below(3) != 0) {
          sends.push_back({peer, 4 * bits.between(1, 1000)});
          sent[static_cast<std::size_t>(r)] += sends.back().bytes;
          received[static_cast<std::size_t>(peer)] += sends.back().bytes;
        }
      }
      all.exchange(r, libra::queue::fetch, 0, sends, {});
    }
    std::int64_t const most = std::max(*std::ranges::max_element(sent), *std::ranges::max_element(received));
    // One node, a picosecond a byte.
    machine const plain = libra::sim::test::plain_machine(ranks);
    std::int64_t const expected = most == 0 ? 0 : plain.links.node_latency_ps + most;
    CHECK(clock.run(all.batch, all.programs, plain, libra::sim::test::row_time{}).makespan_ps == expected);
  }
}

TEST_CASE("a round that starts everywhere at once ends no later with more bandwidth, and no earlier with less") {
  random_bits bits(5);
  engine clock;
  for (int round = 0; round < 300; ++round) {
    auto const ranks = static_cast<std::int32_t>(bits.between(2, 12));
    libra::sim::test::hand_written all(ranks);
    for (std::int32_t r = 0; r < ranks; ++r) {
      std::vector<libra::sim::test::parcel> sends;
      for (std::int32_t peer = 0; peer < ranks; ++peer) {
        if (bits.below(3) != 0) {
          sends.push_back({peer, 4 * bits.between(0, 1000)});
        }
      }
      all.exchange(r, libra::queue::fetch, 0, sends, {});
      all.compute(r, bits.between(0, 3000), 1);
    }
    machine const base = libra::sim::test::plain_machine(static_cast<std::int32_t>(bits.between(1, 6)));
    auto const time = [&](machine const& m) {
      return clock.run(all.batch, all.programs, m, libra::sim::test::row_time{}).makespan_ps;
    };
    machine wide = base;
    (bits.below(2) == 0 ? wide.links.node_bytes_per_second : wide.links.network_bytes_per_second) *= 2;
    CHECK(time(wide) <= time(base));
    machine joined = base;
    joined.peer_bytes_per_second = bits.between(1, 120) * 1'000'000'000;
    CHECK(time(joined) >= time(base));
    joined.peer_bytes_per_second *= 2;
    CHECK(time(joined) >= time(base));
    machine near = base;
    (bits.below(2) == 0 ? near.links.node_latency_ps : near.links.network_latency_ps) /= 2;
    CHECK(time(near) <= time(base));
  }
}

TEST_CASE("a slower part makes a pool's programs at most a little faster") {
  // Equal sharing has anomalies: a transfer that starts later may leave its port to a more urgent one. They are small.
  engine clock;
  for_each_case([&](simulated_case const& c, pass p) {
    std::int64_t const before = c.run(clock, p, c.rates).makespan_ps;
    std::array<machine, 5> slower;
    slower.fill(c.rates);
    slower[0].links.node_bytes_per_second = c.rates.links.node_bytes_per_second * 2 / 3;
    slower[1].links.network_bytes_per_second = c.rates.links.network_bytes_per_second * 2 / 3;
    slower[2].links.node_latency_ps *= 2;
    slower[3].links.network_latency_ps *= 2;
    slower[4].attention.forward_flop_per_second /= 2;
    slower[4].attention.backward_flop_per_second /= 2;
    for (machine const& m : slower) {
      CHECK(c.run(clock, p, m).makespan_ps >= before - before / 10);
    }
  });
}

TEST_CASE("the same programs take the same time, whatever the engine ran before") {
  engine used;
  for_each_case([&](simulated_case const& c, pass p) {
    engine fresh;
    CHECK(c.run(used, p, c.rates) == c.run(fresh, p, c.rates));
  });
}
