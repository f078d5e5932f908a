#include <libra/program/key_moves.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace {

using libra::rank_id;
using libra::segment_id;
using libra::detail::key_move_list;
using libra::detail::key_routes;
using libra::detail::rank_tiles;

TEST_CASE("panels learn when they are first filled and last passed on, and moves are listed by round") {
  std::vector<rank_tiles> ranks(3);
  for (rank_tiles& rank : ranks) {
    rank.inputs.push_back({segment_id(0), 0, {0, 9}, 1, 2, std::numeric_limits<std::int32_t>::max()});
  }
  key_move_list moves(ranks);
  moves.add({.round = 4,
             .segment = segment_id(0),
             .tokens = {0, 9},
             .from = rank_id(1),
             .to = rank_id(2),
             .source = 0,
             .target = 0});
  moves.add({.round = 2,
             .segment = segment_id(0),
             .tokens = {0, 5},
             .from = rank_id(0),
             .to = rank_id(1),
             .local = 0,
             .target = 0});
  moves.add({.round = 3,
             .segment = segment_id(0),
             .tokens = {5, 9},
             .from = rank_id(0),
             .to = rank_id(1),
             .local = 5,
             .target = 0});
  CHECK(ranks[1].inputs[0].first_round == 2);
  CHECK(ranks[1].inputs[0].last_round == 4);
  CHECK(ranks[2].inputs[0].first_round == 4);
  CHECK(ranks[2].inputs[0].last_round == 0);
  key_routes const r = moves.take();
  REQUIRE(r.moves.size() == 3);
  CHECK(r.moves[0].round == 2);
  CHECK(r.moves[2].round == 4);
}

TEST_CASE("blocks in transit touch no panel") {
  std::vector<rank_tiles> ranks(2);
  key_move_list moves(ranks);
  CHECK(moves.add_transit(rank_id(1), {0, 4}, 1, 3) == 0);
  CHECK(moves.add_transit(rank_id(1), {4, 8}, 1, 3) == 1);
  moves.add({.round = 1,
             .segment = segment_id(0),
             .tokens = {0, 4},
             .from = rank_id(0),
             .to = rank_id(1),
             .local = 0,
             .target = 0,
             .target_transit = true});
  key_routes const r = moves.take();
  REQUIRE(r.transits.size() == 2);
  CHECK(r.transits[1].tokens == libra::row_range{4, 8});
  CHECK(r.transits[1].last == 3);
}

}  // namespace
