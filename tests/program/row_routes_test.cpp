#include "support/printing.hpp"

#include <libra/program/key_router.hpp>
#include <libra/program/row_routes.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace {

using libra::node_map;
using libra::pass;
using libra::pool_batch;
using libra::rank_id;
using libra::segment_id;
using libra::tile;
using libra::detail::key_move;
using libra::detail::key_router;
using libra::detail::key_routes;
using libra::detail::rank_tiles;
using libra::detail::row_move;
using libra::detail::row_router;
using libra::detail::tile_ref;

/// Two nodes of four ranks; a document of 1,024 tokens lies on rank 0 alone. Two key/value heads of two query heads.
pool_batch short_document() {
  return {.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = libra::attention_mask::causal()},
          .home = {4096, 4},
          .slots = 2,
          .first_rank = 0,
          .segments = {{{libra::document_id(0), 0, 1024}, libra::sequence_id(0), libra::slot_id(0), 0}}};
}

struct routed {
  std::vector<row_move> rows;  // of the only wave
  key_routes keys;
};
routed route(std::vector<tile> const& tiles, pass direction, std::int64_t least_bytes) {
  static pool_batch const batch = short_document();
  node_map const nodes(batch, 4);
  std::vector<rank_tiles> ranks = libra::detail::wave_cutter(batch, nodes, direction, {}, 1)(tiles);
  for (rank_tiles& rank : ranks) {
    rank.inputs = libra::detail::join_panels(
        rank.tiles, [](tile_ref const& t) { return !t.keys_home; }, [](tile_ref& t, std::size_t p) { t.panel = p; });
  }
  routed result;
  result.keys = key_router(batch, nodes, ranks, std::int64_t{1} << 40)(1);
  result.rows = row_router(batch, nodes, ranks, direction, {}, least_bytes)(1, result.keys, {})[1];
  return result;
}

/// Both query heads of key/value head 0, on a rank.
tile all_rows(std::int32_t rank) { return {segment_id(0), rank_id(rank), 0, 2, 0, 1024}; }

/// Bytes that leave each rank of the home's node through the network: a row of q, a row of k and of v.
std::map<std::int32_t, std::int64_t> sent(routed const& r) {
  std::map<std::int32_t, std::int64_t> bytes;
  for (row_move const& m : r.rows) {
    if (!m.near) {
      bytes[m.exit.value] += m.tokens.size() * 2 * 32;
    }
  }
  for (key_move const& m : r.keys.moves) {
    if (m.round == libra::detail::network_round(m.wave)) {
      bytes[m.from.value] += m.tokens.size() * 2 * 32;
    }
  }
  return bytes;
}

TEST_CASE("rows and keys of one home leave its node through all ports, and results enter through all") {
  for (pass const p : {pass::forward, pass::backward}) {
    routed const r = route({all_rows(5)}, p, 0);
    std::int64_t rows = 0;
    std::map<std::int32_t, std::int64_t> entered;
    for (row_move const& m : r.rows) {
      CHECK(m.home == rank_id(0));
      CHECK(m.local == m.tokens.begin);
      CHECK(m.rank == rank_id(5));
      rows += m.tokens.size();
      entered[m.entry.value] += m.tokens.size();
    }
    CHECK(rows == 1024);
    CHECK(entered == std::map<std::int32_t, std::int64_t>{{0, 256}, {1, 256}, {2, 256}, {3, 256}});
    if (p == pass::forward) {
      CHECK(sent(r) == std::map<std::int32_t, std::int64_t>{{0, 32768}, {1, 32768}, {2, 32768}, {3, 32768}});
    }
  }
}

TEST_CASE("relayed keys are in transit for one round, with the neighbour that sends them") {
  routed const r = route({all_rows(5)}, pass::forward, 0);
  REQUIRE(!r.keys.transits.empty());
  for (key_move const& m : r.keys.moves) {
    if (m.target_transit) {
      libra::detail::transit const& t = r.keys.transits[m.target];
      CHECK(m.round == libra::detail::near_round(1));
      CHECK(t.round == m.round);
      CHECK(t.rank == m.to);
      CHECK(t.tokens == m.tokens);
      CHECK(m.from == rank_id(0));
    } else {
      CHECK(m.round == libra::detail::network_round(1));
      CHECK(m.source_transit == (m.from != rank_id(0)));
    }
  }
}

TEST_CASE("what stays in the node, or is too little, goes straight") {
  for (row_move const& m : route({all_rows(2)}, pass::forward, 0).rows) {
    CHECK(m.near);
    CHECK_FALSE(m.relayed_out());
    CHECK_FALSE(m.relayed_back());
  }
  routed const r = route({all_rows(5)}, pass::forward, std::numeric_limits<std::int64_t>::max());
  CHECK(r.rows.size() == 1);
  CHECK_FALSE(r.rows.front().relayed_out());
  CHECK(r.keys.transits.empty());
}

TEST_CASE("sums of gradients count at their home's port, so that more of the rows enter elsewhere") {
  static pool_batch const batch = short_document();
  node_map const nodes(batch, 4);
  std::vector<rank_tiles> ranks =
      libra::detail::wave_cutter(batch, nodes, pass::backward, {}, 1)(std::vector<tile>{all_rows(5)});
  key_routes keys;
  libra::detail::gradient_routes gradients;
  gradients.homes.resize(8);
  libra::detail::gradient_piece piece;
  piece.from = rank_id(5);
  piece.tokens = {0, 1024};
  piece.round = 1;
  gradients.homes[0].push_back(piece);
  auto const moves = row_router(batch, nodes, ranks, pass::backward, {}, 0)(1, keys, gradients);
  REQUIRE(!moves[1].empty());
  for (row_move const& m : moves[1]) {
    CHECK(m.relayed_back());
  }
}

}  // namespace
