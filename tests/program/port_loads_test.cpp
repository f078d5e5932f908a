#include "support/printing.hpp"

#include <libra/program/port_loads.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

using libra::node_map;
using libra::rank_id;
using libra::row_range;
using libra::detail::port_loads;

/// Eight ranks in two groups of four.
node_map nodes_of_four() {
  static libra::pool_batch const eight{.shape = {.q_heads = 1, .kv_heads = 1, .head_dim = 16, .mask = {}},
                                       .home = {64, 4},
                                       .slots = 2,
                                       .first_rank = 0,
                                       .segments = {}};
  return node_map(eight, 4);
}

struct carried {
  std::int32_t through{};
  row_range tokens;
  friend bool operator==(carried const&, carried const&) = default;
};
std::vector<carried> parts_of(port_loads& loads, std::int32_t home, row_range tokens, std::int64_t bytes) {
  std::vector<carried> parts;
  loads.cut(rank_id(home), tokens, bytes, [&](rank_id by, row_range range) { parts.push_back({by.value, range}); });
  return parts;
}

TEST_CASE("what a port has above the mean of its node goes through the others, as far as they are below it") {
  node_map const nodes = nodes_of_four();
  port_loads loads(nodes, 0);
  loads.clear();
  loads.add(rank_id(0), 800);
  loads.add(rank_id(2), 100);
  loads.add(rank_id(5), 300);  // another node
  loads.close();
  CHECK(parts_of(loads, 0, {0, 50}, 10) == std::vector<carried>{{1, {0, 22}}, {2, {22, 34}}, {3, {34, 50}}});
  CHECK(parts_of(loads, 0, {50, 80}, 10) == std::vector<carried>{{3, {50, 56}}, {0, {56, 80}}});
  CHECK(parts_of(loads, 2, {0, 10}, 10) == std::vector<carried>{{2, {0, 10}}});
  CHECK(parts_of(loads, 5, {0, 30}, 10) ==
        std::vector<carried>{{4, {0, 7}}, {6, {7, 14}}, {7, {14, 21}}, {5, {21, 30}}});
}

TEST_CASE("a surplus within the bytes that are not worth it, or an eighth of the mean, stays") {
  node_map const nodes = nodes_of_four();
  for (std::int64_t const least : {0, 600}) {
    port_loads loads(nodes, least);
    loads.clear();
    loads.add(rank_id(0), 800);
    for (std::int32_t r = 4; r < 8; ++r) {
      loads.add(rank_id(r), r == 4 ? 1100 : 1000);
    }
    loads.close();
    CHECK(parts_of(loads, 0, {0, 80}, 10).size() == (least == 0 ? 4 : 1));
    CHECK(parts_of(loads, 4, {0, 110}, 10) == std::vector<carried>{{4, {0, 110}}});
  }
}

TEST_CASE("a load is as good as new after clear; tokens too large for what is left stay whole") {
  node_map const nodes = nodes_of_four();
  port_loads loads(nodes, 0);
  for (int turn = 0; turn < 2; ++turn) {
    loads.clear();
    loads.add(rank_id(3), 90);
    loads.close();
    CHECK(parts_of(loads, 3, {0, 1}, 90) == std::vector<carried>{{3, {0, 1}}});
    CHECK(parts_of(loads, 3, {0, 9}, 10) == std::vector<carried>{{0, {0, 2}}, {1, {2, 4}}, {2, {4, 6}}, {3, {6, 9}}});
  }
}

}  // namespace
