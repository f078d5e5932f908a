#include <libra/place/as_packed.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace {

static_assert(std::is_trivially_copyable_v<libra::as_packed>);

TEST_CASE("every sequence stays where packing put it, whatever its work") {
  std::vector<libra::int128> const work{9, 1, 8, 2, 7, 3, 6};
  libra::layout const l{.window_tokens = 10, .dp = 3, .cp = 1, .pool = 2, .micro_steps = 1};
  libra::placement const placed = libra::as_packed{}(work, l, libra::pool_partition{{0, 2, 3}});
  REQUIRE(placed.at.size() == 6);
  for (std::size_t s = 0; s < 6; ++s) {
    CHECK(placed.at[s].index() == s);
  }
}

TEST_CASE("less than one global batch is refused") {
  std::vector<libra::int128> const work{9, 1};
  CHECK_THROWS_AS(static_cast<void>(libra::as_packed{}(work, libra::layout{}, libra::pool_partition{{0, 64}})),
                  libra::input_error);
}

}  // namespace
