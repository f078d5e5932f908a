#include <libra/sim/flows.hpp>

#include <sim/hand_written.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

using libra::queue;
using libra::sim::flow;
using libra::sim::pool_flows;
using libra::sim::test::hand_written;

TEST_CASE("transfers of a round join by sender and receiver; copies inside a rank are none") {
  hand_written three(3);
  three.exchange(0, queue::fetch, 0, {{1, 40}, {0, 400}, {2, 12}, {1, 4}}, {});
  three.exchange(1, queue::fetch, 0, {{0, 8}}, {});
  three.exchange(2, queue::fetch, 0, {}, {});
  pool_flows flows;
  flows.collect(three.batch, three.programs, 2);
  CHECK(flows.ops() == 3);
  REQUIRE(flows.all().size() == 3);
  CHECK(flows[0].bytes == 44);
  CHECK(flows[0].from_rank == 0);
  CHECK(flows[0].to_rank == 1);
  CHECK_FALSE(flows[0].network);
  CHECK(flows[1].bytes == 12);
  CHECK(flows[1].to_rank == 2);
  CHECK(flows[1].network);
  CHECK(flows[2].bytes == 8);
  CHECK(flows.sent_by(0) == libra::item_range{0, 2});
  CHECK(flows.sent_by(2).size() == 0);
  std::vector<std::uint32_t> const received(flows.received_by(2).begin(), flows.received_by(2).end());
  CHECK(received == std::vector<std::uint32_t>{1});
}

TEST_CASE("a flow belongs to its round and queue on both sides") {
  hand_written two(2);
  two.exchange(0, queue::deliver, 0, {{1, 4}}, {});
  two.exchange(0, queue::fetch, 0, {}, {});
  two.exchange(0, queue::fetch, 1, {{1, 8}}, {});
  two.exchange(1, queue::fetch, 0, {}, {}).exchange(1, queue::fetch, 1, {}, {}).exchange(1, queue::deliver, 0, {}, {});
  pool_flows flows;
  flows.collect(two.batch, two.programs, 8);
  REQUIRE(flows.all().size() == 2);
  CHECK(flows[0].from == 0);
  CHECK(flows[0].to == 5);
  CHECK(flows[1].from == 2);
  CHECK(flows[1].to == 4);
}

TEST_CASE("nodes are counted from the job's first rank, not the pool's") {
  hand_written two(2);
  two.exchange(0, queue::fetch, 0, {{1, 4}}, {}).exchange(1, queue::fetch, 0, {}, {});
  pool_flows flows;
  flows.collect(two.batch, two.programs, 4);
  CHECK_FALSE(flows[0].network);
  two.batch.first_rank = 3;
  flows.collect(two.batch, two.programs, 4);
  CHECK(flows[0].network);
}
