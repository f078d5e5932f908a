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

TEST_CASE("a layout that cannot be used is refused") {
  CHECK_THROWS_WITH_AS(static_cast<void>(fixed_size{}(layout{.dp = 4, .pool = 5}, {})),
                       "pool is 5, expected at most dp 4", libra::input_error);
}

}  // namespace
