#include "support/hand_pool.hpp"

#include <libra/program/check_tile.hpp>

#include <doctest/doctest.h>

namespace {

using libra::rank_id;
using libra::segment_id;
using libra::tile;

TEST_CASE("tiles inside the pool, their segment and one key/value head are accepted") {
  for (tile const& t : libra::test::hand_tiles()) {
    CHECK_NOTHROW(libra::detail::check_tile(libra::test::hand_pool(), t));
  }
}

TEST_CASE("tiles outside the pool, a segment or a key/value head are refused") {
  auto const refused = [](tile const& t, char const* why) {
    CHECK_THROWS_WITH_AS(libra::detail::check_tile(libra::test::hand_pool(), t), why, libra::input_error);
  };
  refused({segment_id(0), rank_id(4), 0, 2, 0, 9}, "tile of segment 0 is on rank 4, expected 0 to 3");
  refused({segment_id(0), rank_id(-1), 0, 2, 0, 9}, "tile of segment 0 is on rank -1, expected 0 to 3");
  refused({segment_id(3), rank_id(0), 0, 2, 0, 9}, "tile names segment 3, expected 0 to 2");
  refused({segment_id(-1), rank_id(0), 0, 2, 0, 9}, "tile names segment -1, expected 0 to 2");
  refused({segment_id(1), rank_id(0), 0, 2, 0, 101}, "tile of segment 1 has rows [0, 101), expected some of [0, 100)");
  refused({segment_id(1), rank_id(0), 0, 2, -1, 9}, "tile of segment 1 has rows [-1, 9), expected some of [0, 100)");
  refused({segment_id(1), rank_id(0), 0, 2, 9, 9}, "tile of segment 1 has rows [9, 9), expected some of [0, 100)");
  refused({segment_id(1), rank_id(0), 1, 3, 0, 9},
          "tile of segment 1 has heads [1, 3), expected query heads of one key/value head");
  refused({segment_id(1), rank_id(0), 2, 2, 0, 9},
          "tile of segment 1 has heads [2, 2), expected query heads of one key/value head");
  refused({segment_id(1), rank_id(0), 2, 5, 0, 9},
          "tile of segment 1 has heads [2, 5), expected query heads of one key/value head");
}

}  // namespace
