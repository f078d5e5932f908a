#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using libra::fixed_size;
using libra::layout;
using libra::pool_id;
using libra::pool_partition;
using libra::topology;

static_assert(std::is_trivially_copyable_v<fixed_size>);

TEST_CASE("every dp and pool up to 40: as few pools as the bound allows, of like size, in order, the larger first") {
  for (std::int32_t dp = 1; dp <= 40; ++dp) {
    for (std::int32_t pool = 1; pool <= dp; ++pool) {
      CAPTURE(dp);
      CAPTURE(pool);
      pool_partition const pools = fixed_size{}(layout{.dp = dp, .pool = pool}, topology{});
      REQUIRE(pools.size() == (dp + pool - 1) / pool);
      REQUIRE(pools.begin.front() == 0);
      REQUIRE(pools.dp() == dp);
      for (std::int32_t g = 0; g < pools.size(); ++g) {
        REQUIRE(pools.slots(pool_id(g)) >= 1);
        REQUIRE(pools.slots(pool_id(g)) <= pool);
        REQUIRE(pools.slots(pool_id(0)) - pools.slots(pool_id(g)) <= 1);
        REQUIRE((g == 0 || pools.slots(pool_id(g)) <= pools.slots(pool_id(g - 1))));
      }
    }
  }
}

TEST_CASE("by hand") {
  CHECK(fixed_size{}(layout{.dp = 12, .pool = 5}, {}).begin == std::vector<std::int32_t>{0, 4, 8, 12});
  CHECK(fixed_size{}(layout{.dp = 11, .pool = 4}, {}).begin == std::vector<std::int32_t>{0, 4, 8, 11});
  CHECK(fixed_size{}(layout{.dp = 7, .pool = 6}, {}).begin == std::vector<std::int32_t>{0, 4, 7});
  CHECK(fixed_size{}(layout{.dp = 3, .pool = 1}, {}).begin == std::vector<std::int32_t>{0, 1, 2, 3});
}

TEST_CASE("by hand: where slots share nodes, pools end with a node as often as they can") {
  // Two slots a node, pools of 3 and 4: the larger first would end at 4, 7 and 10.
  CHECK(fixed_size{}(layout{.dp = 10, .cp = 4, .pool = 4}, {}).begin == std::vector<std::int32_t>{0, 4, 7, 10});
  // Four slots a node, pools of 5 and 6: 6 + 6 end with one. Of pools of 4 and 5 the smaller come first.
  CHECK(fixed_size{}(layout{.dp = 32, .cp = 2, .pool = 6}, {}).begin ==
        std::vector<std::int32_t>{0, 6, 12, 17, 22, 27, 32});
  CHECK(fixed_size{}(layout{.dp = 13, .cp = 2, .pool = 5}, {}).begin == std::vector<std::int32_t>{0, 4, 8, 13});
  // Two slots are three nodes of eight: no single slot ends with one.
  CHECK(fixed_size{}(layout{.dp = 13, .cp = 12, .pool = 5}, {}).begin == std::vector<std::int32_t>{0, 4, 8, 13});
}

TEST_CASE(
    "every dp, pool and cp: like sizes in any order, and never fewer ends on node edges than with the larger first") {
  for (std::int32_t const cp : {1, 2, 3, 4, 6, 8, 12}) {
    for (std::int32_t dp = 1; dp <= 40; ++dp) {
      for (std::int32_t pool = 1; pool <= dp; ++pool) {
        INFO("dp ", dp, ", cp ", cp, ", pool ", pool);
        pool_partition const pools = fixed_size{}(layout{.dp = dp, .cp = cp, .pool = pool}, topology{});
        std::int32_t const count = (dp + pool - 1) / pool;
        REQUIRE(pools.size() == count);
        REQUIRE(pools.dp() == dp);
        std::int32_t larger = 0;
        std::int32_t edges = 0;
        std::int32_t edges_larger_first = 0;
        for (std::int32_t g = 0; g < count; ++g) {
          std::int32_t const more = pools.slots(pool_id(g)) - dp / count;
          REQUIRE((more == 0 || more == 1));
          larger += more;
          edges += pools.first_slot(pool_id(g)) * cp % 8 == 0 ? 1 : 0;
          edges_larger_first += (g * (dp / count) + std::min(g, dp % count)) * cp % 8 == 0 ? 1 : 0;
        }
        REQUIRE(larger == dp % count);
        REQUIRE(edges >= edges_larger_first);
      }
    }
  }
}

TEST_CASE("a layout that cannot be used is refused") {
  CHECK_THROWS_WITH_AS(static_cast<void>(fixed_size{}(layout{.dp = 4, .pool = 5}, {})),
                       "pool is 5, expected at most dp 4", libra::input_error);
}

}  // namespace
