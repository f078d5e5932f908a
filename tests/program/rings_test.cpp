#include <libra/program/rings.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

using libra::rank_id;
using libra::segment_id;
using libra::tile;

TEST_CASE("tiles of one segment and block of heads form a ring by rank; keys move one member a step") {
  libra::pool_batch batch;
  batch.shape = {4, 2, 16, {}};
  batch.home = {12, 3, libra::sharding::zigzag};
  batch.slots = 1;
  batch.segments.push_back({{libra::document_id(0), 0, 12}, libra::sequence_id(0), libra::slot_id(0), 0});
  batch.number_rows();
  std::vector<tile> const tiles{{segment_id(0), rank_id(2), 0, 2, 4, 8},  {segment_id(0), rank_id(0), 0, 2, 10, 12},
                                {segment_id(0), rank_id(0), 0, 2, 0, 2},  {segment_id(0), rank_id(1), 0, 2, 2, 4},
                                {segment_id(0), rank_id(1), 0, 2, 8, 10}, {segment_id(0), rank_id(1), 2, 4, 0, 12}};
  auto const rings = libra::detail::form_rings(batch, tiles);
  REQUIRE(rings.size() == 2);
  auto const& ring = rings[0];
  REQUIRE(ring.members.size() == 3);
  CHECK(ring.members[0].rows == std::vector<libra::row_range>{{0, 2}, {10, 12}});
  CHECK(ring.members[0].rows_home);
  CHECK(ring.members[0].size() == 4);
  CHECK(ring.members[0].before(1) == 2);
  CHECK(ring.members[2].rank == rank_id(2));
  CHECK(ring.origin(0, 1) == 2);
  CHECK(ring.origin(1, 2) == 2);
  CHECK(ring.origin(2, 0) == 2);
  CHECK(ring.next(2) == 0);
  REQUIRE(rings[1].members.size() == 1);
  CHECK_FALSE(rings[1].members[0].rows_home);  // rank 1 does not hold all 12 rows
}

}  // namespace
