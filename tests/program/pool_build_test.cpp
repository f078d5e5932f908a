#include "support/hand_pool.hpp"
#include "support/printing.hpp"

#include <libra/program/pool_build.hpp>

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using libra::pass;
using libra::tensor;
using libra::detail::pool_build;

TEST_CASE("bytes and the pass") {
  libra::pool_batch const batch = libra::test::hand_pool();
  pool_build const pool{.batch = batch, .nodes = libra::node_map(batch, 0), .direction = pass::backward, .width = {}};
  CHECK(pool.backward());
  CHECK(pool.row_bytes(tensor::dk_part) == 64);
  CHECK(pool.row_bytes(tensor::dk) == 32);
  CHECK(pool.row_bytes(tensor::k) == 32);
}

TEST_CASE("a rank's tiles start without blocks") {
  libra::detail::rank_tiles tiles;
  tiles.tiles.resize(3);
  libra::detail::rank_build const rank(std::move(tiles),
                                       {.waves = 0,
                                        .rounds = {},
                                        .attends = {true, false, false},
                                        .clears_before = {false, false, false},
                                        .after = {-1, -1, -1},
                                        .sums = {false, false, false}},
                                       libra::op_kind::attend);
  REQUIRE(rank.blocks.size() == 3);
  for (auto const& blocks : rank.blocks) {
    CHECK(blocks.inputs == libra::detail::none);
    CHECK(blocks.outputs == libra::detail::none);
  }
}

}  // namespace
