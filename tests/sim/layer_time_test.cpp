#include "support/random_cases.hpp"

#include <libra/sim/layer_time.hpp>

#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/plan/metrics.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

using libra::sim::layer_time;
using libra::sim::pool_timing;
using libra::sim::port;
using libra::sim::rank_timing;

namespace {

rank_timing busy_rank(std::int64_t busy_ps, std::int64_t sent, std::int64_t received) {
  rank_timing r;
  r.compute_busy_ps = busy_ps;
  r.ports[static_cast<std::size_t>(port::network_send)].bytes = sent;
  r.ports[static_cast<std::size_t>(port::node_receive)].bytes = received;
  return r;
}

}  // namespace

TEST_CASE("two passes join rank by rank") {
  pool_timing const forward{.makespan_ps = 100, .ranks = {busy_rank(10, 1, 2), busy_rank(40, 5, 0)}};
  pool_timing const backward{.makespan_ps = 300, .ranks = {busy_rank(200, 3, 30), busy_rank(165, 4, 0)}};
  layer_time const t = libra::sim::join_passes(forward, backward, 16);
  CHECK(t.attention == libra::work{100, 300});
  CHECK(t.busy_ps[0] == 210);
  CHECK(t.busy_ps[1] == 2 * 40 + 165);
  CHECK(t.max_bytes == 32);
  CHECK(t.ranks_per_exchange == 16);
}

TEST_CASE("a planned pool's layer takes what the engine says of its programs") {
  libra::scheduler const planner(libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, libra::ulysses{},
                                 libra::roofline{});
  std::vector<std::int64_t> const lengths{3000, 1096, 4096, 500, 3596, 2048, 2048};
  libra::layout const layout{.window_tokens = 4096, .dp = 2, .cp = 4, .pool = 1, .micro_steps = 2};
  libra::batch_plan const plan = planner.plan(lengths, layout);

  libra::sim::engine clock;
  libra::sim::kernel_time const time(libra::h200_sxm.attention);
  std::vector<std::pair<int, int>> asked;
  auto const times = libra::sim::time_layers(plan, [&](libra::micro_step_id m, libra::pool_id g) {
    asked.emplace_back(m.value, g.value);
    return libra::sim::time_layer(clock, planner.plan_pool(plan, m, g), libra::h200_sxm, time);
  });
  CHECK(asked == std::vector<std::pair<int, int>>{{0, 0}, {0, 1}, {1, 0}, {1, 1}});

  libra::pool_plan const first = planner.plan_pool(plan, libra::micro_step_id(0), libra::pool_id(0));
  pool_timing const forward = clock.run(first.batch, first.forward, libra::h200_sxm, time);
  CHECK(times[0].attention.forward == forward.makespan_ps);
  libra::pool_traffic const traffic = libra::traffic_of(first);
  CHECK(times[0].max_bytes == std::max(traffic.max_bytes_sent, traffic.max_bytes_received));
  CHECK(times[0].ranks_per_exchange == 4);
  CHECK(times[0].busy_ps[0] < times[0].busy_ps[1]);
  CHECK(times[0].busy_ps[0] <= times[0].attention.forward + times[0].attention.backward);
}

TEST_CASE("no pool takes less than its segments uncut and spread evenly, whatever the policies") {
  libra::sim::engine clock;
  libra::sim::kernel_time const time(libra::h100_sxm.attention);
  for (std::uint64_t seed = 100; seed < 300; ++seed) {
    libra::test::planning_case const c = libra::test::random_case(seed, {.tokens = 1500});
    INFO(c.describe());
    libra::batch_plan const plan = c.plan();
    libra::pool_plan const pool = c.make_scheduler().plan_pool(plan, libra::micro_step_id(0), libra::pool_id(0));
    layer_time const least =
        libra::sim::least_layer_time(plan, libra::micro_step_id(0), libra::pool_id(0), libra::h100_sxm);
    layer_time const took = libra::sim::time_layer(clock, pool, libra::h100_sxm, time);
    REQUIRE(least.attention.forward > 0);
    REQUIRE(least.attention.forward <= took.attention.forward);
    REQUIRE(least.attention.backward <= took.attention.backward);
  }
}
