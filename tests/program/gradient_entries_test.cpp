#include "support/hand_pool.hpp"

#include <libra/program/gradient_entries.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace {

using libra::rank_id;
using libra::segment_id;
using libra::detail::gradient_piece;
using libra::detail::gradient_routes;
using libra::detail::node_sum;
using libra::detail::none;

/// Rows of head 0 of segment 0, in panel 0 of `from`, on their way to a home in round 3.
gradient_piece arriving(rank_id from, libra::row_range tokens) {
  gradient_piece piece{.segment = segment_id(0), .kv_head = 0, .from = from, .panel = 0, .tokens = tokens};
  piece.local = 100 + tokens.begin;
  piece.round = 3;
  return piece;
}

/// What becomes of pieces for ranks of two nodes, of ranks 0, 1 and 2, 3.
gradient_routes entered(std::vector<std::vector<gradient_piece>> homes, std::int64_t least_tokens = 0) {
  libra::pool_batch const batch = libra::test::hand_pool();
  libra::node_map const nodes(batch, 2);
  gradient_routes routes{.homes = std::move(homes), .sums = {}};
  libra::detail::gradient_entries(nodes, least_tokens, routes)();
  return routes;
}

TEST_CASE("half of what would enter by one of two ports enters by the other, and comes home a round later") {
  gradient_routes const routes = entered({{arriving(rank_id(2), {0, 64})}, {}, {}, {}});
  REQUIRE(routes.sums.size() == 1);
  node_sum const& relay = routes.sums[0];
  CHECK(relay.at == rank_id(1));
  CHECK(relay.tokens.size() == 32);
  CHECK(relay.round == 3);
  CHECK(relay.last_sent == 4);
  REQUIRE(relay.parts.size() == 1);
  CHECK(relay.parts[0].from == rank_id(2));
  CHECK(relay.parts[0].panel == 0);
  REQUIRE(routes.homes[0].size() == 2);
  std::int64_t tokens = 0;
  for (gradient_piece const& g : routes.homes[0]) {
    tokens += g.tokens.size();
    CHECK(g.local == 100 + g.tokens.begin);
    bool const relayed = g.from == rank_id(1);
    CHECK(g.round == (relayed ? 4 : 3));
    CHECK(g.sum == (relayed ? 0 : none));
    CHECK(g.panel == (relayed ? none : 0));
  }
  CHECK(tokens == 64);
}

TEST_CASE("what several homes of a node get alike enters by their own ports") {
  CHECK(entered({{arriving(rank_id(2), {0, 64})}, {arriving(rank_id(3), {64, 128})}, {}, {}}).sums.empty());
}

TEST_CASE("what is little, whole, or of the own node comes as it did") {
  CHECK(entered({{arriving(rank_id(2), {0, 64})}, {}, {}, {}}, 32).sums.empty());
  CHECK(entered({{arriving(rank_id(1), {0, 64})}, {}, {}, {}}).sums.empty());
  gradient_piece whole = arriving(rank_id(2), {0, 64});
  whole.whole = true;
  CHECK(entered({{whole}, {}, {}, {}}).sums.empty());
}

TEST_CASE("a sum that is passed on is kept until it has been sent") {
  gradient_piece piece = arriving(rank_id(2), {0, 64});
  piece.panel = none;
  piece.sum = 0;
  libra::pool_batch const batch = libra::test::hand_pool();
  gradient_routes routes{.homes = {{piece}, {}, {}, {}}, .sums = {}};
  routes.sums.emplace_back().last_sent = 3;
  libra::detail::gradient_entries(libra::node_map(batch, 2), 0, routes)();
  REQUIRE(routes.sums.size() == 2);
  CHECK(routes.sums[1].parts[0].sum == 0);
  CHECK(routes.sums[0].last_sent == 3);
}

}  // namespace
