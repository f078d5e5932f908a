#include <libra/sim/timing.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using libra::sim::pool_timing;
using libra::sim::port;
using libra::sim::rank_timing;

static_assert(std::is_trivially_copyable_v<rank_timing>);
static_assert(std::is_trivially_copyable_v<libra::sim::op_span>);

TEST_CASE("a rank's bytes are those of its node and network ports, its wire time that of its busiest") {
  rank_timing r;
  r.ports[static_cast<std::size_t>(port::node_send)] = {10, 100};
  r.ports[static_cast<std::size_t>(port::network_send)] = {20, 400};
  r.ports[static_cast<std::size_t>(port::node_receive)] = {5, 300};
  CHECK(r.bytes_sent() == 30);
  CHECK(r.bytes_received() == 5);
  CHECK(r.wire_ps() == 400);
  CHECK(r.of(port::network_receive).busy_ps == 0);
}

TEST_CASE("a pool's busiest rank") {
  pool_timing t;
  CHECK(t.max_compute_busy_ps() == 0);
  t.ranks.resize(3);
  t.ranks[1].compute_busy_ps = 7;
  CHECK(t.max_compute_busy_ps() == 7);
}
