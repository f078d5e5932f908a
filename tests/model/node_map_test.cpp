#include <libra/model/node_map.hpp>

#include <doctest/doctest.h>

namespace {

using libra::node_map;
using libra::rank_id;

libra::pool_batch pool(std::int32_t slots, std::int32_t cp, std::int64_t first_rank) {
  return {.shape = {}, .home = {128, cp}, .slots = slots, .first_rank = first_rank, .segments = {}};
}

TEST_CASE("a pool that begins inside a node") {
  node_map const nodes(pool(3, 4, 4), 8);
  CHECK(nodes.nodes() == 2);
  CHECK(nodes.of(rank_id(0)) == 0);
  CHECK(nodes.of(rank_id(3)) == 0);
  CHECK(nodes.of(rank_id(4)) == 1);
  CHECK(nodes.first(0) == 0);
  CHECK(nodes.first(1) == 4);
  CHECK(nodes.first(2) == 12);
}

TEST_CASE("without nodes all ranks are in one") {
  node_map const nodes(pool(3, 5, 7), 0);
  CHECK(nodes.nodes() == 1);
  CHECK(nodes.of(rank_id(14)) == 0);
  CHECK(nodes.first(1) == 15);
}

TEST_CASE("groups apart: a node ends where a group does") {
  node_map const nodes(pool(3, 4, 2), 8, true);
  // Nodes of the machine begin at ranks 6 and 14 of the pool, groups at 4 and 8.
  CHECK(nodes.nodes() == 4);
  CHECK(nodes.first(1) == 4);
  CHECK(nodes.first(2) == 6);
  CHECK(nodes.first(3) == 8);
  CHECK(nodes.of(rank_id(7)) == 2);
}

TEST_CASE("a pool without ranks has no nodes") {
  node_map const nodes(pool(0, 8, 0), 8);
  CHECK(nodes.nodes() == 0);
  CHECK(nodes.first(0) == 0);
}

}  // namespace
