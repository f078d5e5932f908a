#include <libra/sim/network.hpp>

#include <sim/hand_written.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using libra::queue;
using libra::sim::never;
using libra::sim::pool_network;
using libra::sim::port;
using libra::sim::port_use;
using libra::sim::test::hand_written;
using libra::sim::test::plain_machine;

TEST_CASE("a flow starts when its second end is ready and ends at both of its ports") {
  hand_written two(2);
  two.exchange(0, queue::fetch, 0, {{1, 400}}, {}).exchange(1, queue::fetch, 0, {}, {{0, 400}});
  pool_network network;
  network.prepare(two.batch, two.programs, plain_machine().links);
  CHECK_FALSE(network.ended(0));
  CHECK(network.latency_ps(0) == 700);

  std::vector<std::int64_t> next(2 * pool_network::lines_per_rank, never);
  auto const note = [&](std::uint32_t p, std::int64_t at) { next[p] = at; };
  network.become_ready(1, 100);
  network.take_changes(note);
  CHECK(next == std::vector<std::int64_t>(next.size(), never));
  network.become_ready(0, 1000);
  network.take_changes(note);
  std::uint32_t const sending = pool_network::number(0, port::node_send);
  std::uint32_t const receiving = pool_network::number(1, port::node_receive);
  CHECK(next[sending] == 1400);
  CHECK(next[receiving] == 1400);

  std::vector<libra::sim::op_index> ended;
  auto const end = [&](libra::sim::op_index o) { ended.push_back(o); };
  network.serve(sending, 1400, end);
  CHECK(ended.empty());
  network.serve(receiving, 1400, end);
  CHECK(ended == std::vector<libra::sim::op_index>{0, 1});
  CHECK(network.use_of(0, port::node_send) == port_use{400, 400});
  network.take_changes(note);
  CHECK(next[sending] == never);
}

TEST_CASE("an exchange without other ranks has ended, and one across nodes has the network's latency") {
  hand_written two(2);
  two.exchange(0, queue::fetch, 0, {{0, 400}}, {}).exchange(1, queue::fetch, 0, {}, {});
  pool_network network;
  network.prepare(two.batch, two.programs, plain_machine().links);
  CHECK(network.ended(0));
  CHECK(network.ended(1));

  two.exchange(0, queue::fetch, 1, {{1, 400}}, {}).exchange(1, queue::fetch, 1, {}, {});
  network.prepare(two.batch, two.programs, plain_machine(1).links);
  CHECK(network.latency_ps(1) == 3000);
  CHECK(network.latency_ps(3) == 3000);
}

TEST_CASE("a slow receiver does not hold up what its senders send to others") {
  // Ranks 0 and 1 send to 2; rank 0 also sends to 3, whose transfer ends as if both had half of rank 0's port.
  hand_written four(4);
  four.exchange(0, queue::fetch, 0, {{2, 1000}, {3, 1000}}, {});
  four.exchange(1, queue::fetch, 0, {{2, 5000}}, {});
  four.exchange(2, queue::fetch, 0, {}, {}).exchange(3, queue::fetch, 0, {}, {});
  pool_network network;
  network.prepare(four.batch, four.programs, plain_machine().links);
  std::vector<std::int64_t> next(4 * pool_network::lines_per_rank, never);
  for (libra::sim::op_index o = 0; o < 4; ++o) {
    network.become_ready(o, 0);
  }
  network.take_changes([&](std::uint32_t p, std::int64_t at) { next[p] = at; });
  CHECK(next[pool_network::number(0, port::node_send)] == 2000);
  CHECK(next[pool_network::number(2, port::node_receive)] == 2000);
  CHECK(next[pool_network::number(3, port::node_receive)] == 1000);
}

TEST_CASE("a connection that is slower than a port ends its flow") {
  hand_written two(2);
  two.exchange(0, queue::fetch, 0, {{1, 400}}, {}).exchange(1, queue::fetch, 0, {}, {{0, 400}});
  pool_network network;
  network.prepare(two.batch, two.programs, plain_machine(1).links, 40'000'000'000);
  std::vector<std::int64_t> next(2 * pool_network::lines_per_rank, never);
  auto const note = [&](std::uint32_t p, std::int64_t at) { next[p] = at; };
  network.become_ready(0, 100);
  network.become_ready(1, 100);
  network.take_changes(note);
  // Ten picoseconds a byte in the ports, twenty-five in the connection.
  std::uint32_t const connection = pool_network::connections_of(0);
  CHECK(next[pool_network::number(0, port::network_send)] == 4100);
  CHECK(next[pool_network::number(1, port::network_receive)] == 4100);
  CHECK(next[connection] == 10'100);

  std::vector<libra::sim::op_index> ended;
  auto const end = [&](libra::sim::op_index o) { ended.push_back(o); };
  network.serve(pool_network::number(0, port::network_send), 4100, end);
  network.serve(pool_network::number(1, port::network_receive), 4100, end);
  CHECK(ended.empty());
  network.serve(connection, 10'100, end);
  CHECK(ended == std::vector<libra::sim::op_index>{0, 1});
  network.take_changes(note);
  CHECK(next[connection] == never);
}
