#include "support/hand_pool.hpp"
#include "support/printing.hpp"

#include <libra/program/pool_build.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace {

using libra::location;
using libra::pass;
using libra::segment_id;
using libra::tensor;
using libra::detail::pool_build;

TEST_CASE("what a tile reads and writes of its rows, in each pass") {
  CHECK(std::ranges::equal(libra::detail::row_inputs(pass::forward), std::array{tensor::q}));
  CHECK(std::ranges::equal(libra::detail::row_outputs(pass::forward), std::array{tensor::o, tensor::lse}));
  CHECK(std::ranges::equal(libra::detail::row_inputs(pass::backward),
                           std::array{tensor::q, tensor::d_o, tensor::lse, tensor::delta}));
  CHECK(std::ranges::equal(libra::detail::row_outputs(pass::backward), std::array{tensor::dq}));
}

TEST_CASE("a token's home row is counted from its shard") {
  libra::pool_batch const batch = libra::test::hand_pool();
  pool_build const pool{
      .batch = batch, .direction = pass::backward, .width = {}, .waves = 0, .ranks = {}, .gradients = {}};
  CHECK(libra::detail::home_location(batch, segment_id(0), 0) == location::home(0));
  CHECK(libra::detail::home_location(batch, segment_id(0), 130) == location::home(2));
  CHECK(libra::detail::home_location(batch, segment_id(2), 27) == location::home(127));
  CHECK(libra::detail::home_location(batch, segment_id(2), 28) == location::home(0));
  CHECK(pool.backward());
  CHECK(pool.row_bytes(tensor::dk) == 64);
  CHECK(pool.row_bytes(tensor::k) == 32);
}

TEST_CASE("a rank's tiles start without blocks") {
  libra::detail::rank_tiles tiles;
  tiles.tiles.resize(3);
  libra::detail::rank_build const rank(std::move(tiles), {.waves = 0, .attends = {true}}, libra::op_kind::attend);
  REQUIRE(rank.blocks.size() == 3);
  for (auto const& blocks : rank.blocks) {
    CHECK(std::ranges::count(blocks, libra::detail::none) == static_cast<std::ptrdiff_t>(libra::tensor_count));
  }
}

}  // namespace
