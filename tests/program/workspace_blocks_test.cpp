#include "support/hand_pool.hpp"

#include <libra/program/workspace_blocks.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

using libra::pass;
using libra::rank_id;
using libra::segment_id;

std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

TEST_CASE("by hand: bytes of the forward pass") {
  libra::pool_program const programs = libra::test::hand_program(pass::forward);
  // A token and head of q, k, v, o is 32 bytes, of lse 4.
  std::int64_t const half_of_2 =
      2 * aligned(60 * 32) + aligned(60 * 2 * 32) + aligned(60 * 2 * 32) + aligned(60 * 2 * 4);
  CHECK(programs.ranks[0].workspace_bytes == half_of_2);
  CHECK(programs.ranks[2].workspace_bytes == half_of_2);
  CHECK(programs.ranks[1].workspace_bytes == 2 * 2 * 192 * 32);
  CHECK(programs.ranks[3].workspace_bytes == 2 * (2 * 256 * 32 + 2 * 64 * 2 * 32 + 64 * 2 * 4));
}

TEST_CASE("a rank that works at home only needs nothing") {
  std::vector<libra::tile> const tiles{
      {segment_id(0), rank_id(0), 0, 2, 0, 256}, {segment_id(0), rank_id(1), 2, 4, 0, 256},
      {segment_id(1), rank_id(2), 0, 2, 0, 100}, {segment_id(1), rank_id(2), 2, 4, 0, 100},
      {segment_id(2), rank_id(3), 0, 2, 0, 60},  {segment_id(2), rank_id(3), 2, 4, 0, 60}};
  libra::pool_program const programs = libra::lower(libra::test::hand_pool(), tiles, pass::forward);
  CHECK(programs.ranks[2].workspace_bytes == 0);
  CHECK(programs.ranks[3].workspace_bytes > 0);
}

TEST_CASE("with four waves alive, many waves need a few waves' worth") {
  // Rank 1 has most to do: 32 equal tiles, half of which is rank 0's.
  libra::pool_batch batch = libra::test::hand_pool();
  batch.shape = {32, 32, 16, libra::attention_mask::causal()};
  std::vector<libra::tile> tiles;
  for (std::int32_t s = 0; s < 3; ++s) {
    for (std::int32_t h = 0; h < 32; ++h) {
      tiles.push_back({segment_id(s), rank_id(s == 1 ? 0 : s == 0 ? 1 : 2), h, h + 1, 0, batch.length(segment_id(s))});
    }
  }
  auto const bytes = [&](std::int32_t waves) {
    return libra::lower(batch, tiles, pass::forward, {.width = {}, .waves = waves, .alive_waves = 4})
        .ranks[1]
        .workspace_bytes;
  };
  std::int64_t const tile = 4 * aligned(256 * 32) + aligned(256 * 4);
  CHECK(bytes(1) == 32 * tile);
  CHECK(bytes(4) <= 32 * tile);
  CHECK(bytes(8) <= 6 * 4 * tile);
  CHECK(bytes(32) <= 7 * tile);
}

TEST_CASE("sums of gradients make room for later ones once they have left") {
  // Rank 2 computes all 32 heads of a segment of ranks 0 and 1, one after another.
  libra::pool_batch batch = libra::test::hand_pool();
  batch.shape = {32, 32, 16, libra::attention_mask::causal()};
  std::vector<libra::tile> tiles;
  for (std::int32_t s = 0; s < 3; ++s) {
    for (std::int32_t h = 0; h < 32; ++h) {
      tiles.push_back({segment_id(s), rank_id(s == 2 ? 3 : 2), h, h + 1, 0, batch.length(segment_id(s))});
    }
  }
  auto const bytes = [&](std::int32_t waves) {
    return libra::lower(batch, tiles, pass::backward, {.width = {}, .waves = waves, .alive_waves = 4})
        .ranks[2]
        .workspace_bytes;
  };
  std::int64_t const sums = 2 * aligned(256 * 64);
  std::int64_t const inputs = 5 * aligned(256 * 32) + 2 * aligned(256 * 4);
  CHECK(bytes(1) >= 32 * (sums + inputs));
  CHECK(bytes(32) <= 14 * sums + 7 * inputs);
}

}  // namespace
