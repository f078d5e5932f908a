#include <libra/sim/paced_flows.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using libra::sim::never;
using libra::sim::paced_flows;

TEST_CASE("each flow ends at its own time, and those that end together by id") {
  paced_flows flows;
  CHECK(flows.next_ps() == never);
  flows.add(70, 1);
  flows.add(50, 9);
  flows.add(50, 4);
  CHECK(flows.next_ps() == 50);
  std::vector<std::uint32_t> ended;
  flows.finish(50, [&](std::uint32_t id) { ended.push_back(id); });
  CHECK(ended == std::vector<std::uint32_t>{4, 9});
  CHECK(flows.next_ps() == 70);
  flows.reset();
  CHECK(flows.next_ps() == never);
}
