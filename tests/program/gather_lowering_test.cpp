#include "support/hand_pool.hpp"

#include <libra/program/gather_lowering.hpp>
#include <libra/program/lowering.hpp>
#include <libra/program/verifier.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using libra::pass;
using libra::pool_batch;
using libra::pool_program;
using libra::tile;
using libra::tile_task;
using libra::detail::gather_lowering;

TEST_CASE("is what lower does with keys that are gathered") {
  pool_batch const batch = libra::test::hand_pool();
  std::vector<tile> const tiles = libra::test::hand_tiles();
  for (pass const p : {pass::forward, pass::backward}) {
    CHECK(gather_lowering(batch, tiles, p, {.waves = 2}).run() == libra::test::hand_program(p, 2));
  }
}

TEST_CASE("every tile works on all keys that its rows see, from a key block on") {
  pool_program const programs = libra::test::hand_program(pass::backward, 3);
  std::size_t tiles = 0;
  for (libra::program const& p : programs.ranks) {
    for (tile_task const& t : p.tiles) {
      ++tiles;
      CHECK(t.part == libra::key_part::all);
      CHECK(t.keys == libra::row_range{0, t.rows.end});
    }
  }
  CHECK(tiles >= libra::test::hand_tiles().size());
}

TEST_CASE("zigzag homes: the same tiles, more pieces") {
  pool_batch batch = libra::test::hand_pool();
  batch.home.kind = libra::sharding::zigzag;
  batch.number_rows();
  for (pass const p : {pass::forward, pass::backward}) {
    for (std::int32_t const waves : {1, 3}) {
      pool_program const programs = gather_lowering(batch, libra::test::hand_tiles(), p, {.waves = waves}).run();
      CHECK(libra::verify(batch, programs).what == "");
    }
  }
}

TEST_CASE("less than two waves alive are refused") {
  pool_batch const batch = libra::test::hand_pool();
  std::vector<tile> const tiles = libra::test::hand_tiles();
  CHECK_THROWS_WITH_AS(gather_lowering(batch, tiles, pass::forward, {.alive_waves = 3}),
                       "alive_waves is 3, expected at least 4", libra::input_error);
}

TEST_CASE("less than one wave is refused") {
  pool_batch const batch = libra::test::hand_pool();
  std::vector<tile> const tiles = libra::test::hand_tiles();
  CHECK_THROWS_WITH_AS(gather_lowering(batch, tiles, pass::forward, {.waves = 0}), "waves is 0, expected at least 1",
                       libra::input_error);
}

}  // namespace
