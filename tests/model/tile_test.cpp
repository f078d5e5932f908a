#include <libra/model/tile.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using libra::rank_id;
using libra::segment_id;
using libra::tile;

static_assert(std::is_trivially_copyable_v<tile> && std::is_trivially_copyable_v<libra::tile_shape>);

TEST_CASE("tiles are ordered by segment, rank, heads, rows") {
  tile const t{segment_id(1), rank_id(1), 1, 2, 1, 2};
  CHECK(t == tile{segment_id(1), rank_id(1), 1, 2, 1, 2});
  CHECK(t < tile{segment_id(2), rank_id(0), 0, 1, 0, 1});
  CHECK(t < tile{segment_id(1), rank_id(2), 0, 1, 0, 1});
  CHECK(t < tile{segment_id(1), rank_id(1), 2, 3, 0, 1});
  CHECK(t < tile{segment_id(1), rank_id(1), 1, 3, 0, 1});
  CHECK(t < tile{segment_id(1), rank_id(1), 1, 2, 2, 3});
  CHECK(t < tile{segment_id(1), rank_id(1), 1, 2, 1, 3});
}

}  // namespace
