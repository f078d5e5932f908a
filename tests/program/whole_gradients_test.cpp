#include "support/hand_pool.hpp"

#include <libra/program/waves.hpp>
#include <libra/program/whole_gradients.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::rank_id;
using libra::segment_id;
using libra::detail::gradient_piece;
using libra::detail::gradient_routes;
using libra::detail::none;
using libra::detail::rank_tiles;

/// What ranks of nodes of `ranks_per_node` send home for tiles of the hand pool in one wave.
gradient_routes routes_of(std::vector<libra::tile> const& tiles, std::int32_t ranks_per_node,
                          std::int64_t least_tokens) {
  libra::pool_batch const batch = libra::test::hand_pool();
  libra::node_map const nodes(batch, ranks_per_node);
  std::vector<rank_tiles> ranks = libra::detail::wave_cutter(batch, nodes, libra::pass::backward, {}, 1)(tiles);
  libra::detail::join_gradient_panels(batch, ranks);
  gradient_routes routes = libra::detail::gradient_router(batch, nodes, ranks, least_tokens)();
  libra::detail::whole_gradients(nodes, least_tokens, routes)();
  return routes;
}

TEST_CASE("what is all that a home gets is rounded by its sender, and comes in the type of the home") {
  // Nodes of one rank. All rows of head 0 are computed on rank 2, those of head 1 half there and half by their homes.
  gradient_routes const routes = routes_of({{segment_id(0), rank_id(2), 0, 2, 0, 256},
                                            {segment_id(0), rank_id(2), 2, 4, 128, 256},
                                            {segment_id(0), rank_id(0), 2, 4, 0, 128}},
                                           1, 0);
  std::int64_t whole = 0;
  for (std::size_t const home : {0U, 1U}) {
    for (gradient_piece const& g : routes.homes[home]) {
      CHECK(g.whole == (g.from == rank_id(2) && (g.kv_head == 0 || home == 1)));
      whole += g.whole ? g.tokens.size() : 0;
      if (g.whole) {
        REQUIRE(g.sum != none);
        libra::detail::node_sum const& s = routes.sums[g.sum];
        CHECK(s.whole);
        CHECK(s.at == g.from);
        CHECK(s.tokens == g.tokens);
        CHECK(s.parts.size() == 1);
        CHECK(g.round == s.round + 1);
      }
    }
  }
  CHECK(whole == 256 + 128);
  // Little is sent as it is: rounding it takes a round more.
  for (auto const& pieces : routes_of({{segment_id(0), rank_id(2), 0, 2, 0, 256}}, 1, 256).homes) {
    CHECK(std::ranges::none_of(pieces, &gradient_piece::whole));
  }
}

}  // namespace
