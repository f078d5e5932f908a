#include "support/printing.hpp"

#include <libra/program/key_router.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace {

using libra::node_map;
using libra::pool_batch;
using libra::rank_id;
using libra::segment_id;
using libra::tile;
using libra::detail::join_panels;
using libra::detail::key_move;
using libra::detail::key_router;
using libra::detail::key_routes;
using libra::detail::rank_tiles;
using libra::detail::tile_ref;

constexpr std::int64_t tokens = 4096;

/// Two nodes of four ranks. One document lies on ranks 0 to 3; it has two key/value heads of two query heads each.
pool_batch two_nodes() {
  return {.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = libra::attention_mask::causal()},
          .home = {tokens, 4},
          .slots = 2,
          .first_rank = 0,
          .segments = {{{libra::document_id(0), 0, tokens}, libra::sequence_id(0), libra::slot_id(0), 0}}};
}

/// Rows `[begin, end)` of key/value head 0 on a rank.
tile rows(std::int32_t rank, std::int64_t begin, std::int64_t end) {
  return {segment_id(0), rank_id(rank), 0, 2, begin, end};
}

key_routes routes(std::vector<tile> const& tiles, std::int32_t waves, std::int32_t ranks_per_node,
                  std::vector<std::int32_t> const& wave_of = {}) {
  static pool_batch const batch = two_nodes();
  node_map const nodes(batch, ranks_per_node);
  std::vector<rank_tiles> ranks = libra::detail::wave_cutter(batch, nodes, libra::pass::forward, {}, 1)(tiles);
  for (std::size_t i = 0; i < wave_of.size(); ++i) {
    ranks[tiles[i].rank.index()].tiles.front().wave = wave_of[i];
  }
  for (rank_tiles& rank : ranks) {
    rank.inputs = join_panels(
        rank.tiles, [](tile_ref const& t) { return !t.keys_home; }, [](tile_ref& t, std::size_t p) { t.panel = p; });
  }
  return key_router(batch, nodes, ranks, std::int64_t{1} << 40)(waves);
}

std::int64_t tokens_of(key_routes const& r, auto accepts) {
  std::int64_t sum = 0;
  for (key_move const& m : r.moves) {
    sum += accepts(m) ? m.tokens.size() : 0;
  }
  return sum;
}

bool crosses(key_move const& m) { return m.from.value / 4 != m.to.value / 4; }

TEST_CASE("what several ranks of a node need crosses to it once, an equal share to each of its ranks") {
  key_routes const r = routes({rows(4, 0, 3072), rows(5, 3072, tokens)}, 1, 4);
  // Both need keys [0, 3072), rank 5 alone the rest.
  CHECK(tokens_of(r, crosses) == tokens);
  std::map<std::int32_t, std::int64_t> entered;
  for (key_move const& m : r.moves) {
    if (crosses(m) && m.tokens.end <= 3072) {
      CHECK(m.round == libra::detail::network_round(1));
      entered[m.to.value] += m.tokens.size();
    }
  }
  CHECK(entered == std::map<std::int32_t, std::int64_t>{{4, 768}, {5, 768}, {6, 768}, {7, 768}});
  // Ranks 6 and 7 need none of it: they hold it until they have passed it on, to both.
  std::int64_t held = 0;
  for (libra::detail::transit const& t : r.transits) {
    CHECK(t.rank.value >= 6);
    held += t.tokens.size();
  }
  CHECK(held == 2 * 768);
  CHECK(tokens_of(r, [](key_move const& m) { return m.source_transit; }) == 2 * 2 * 768);
  for (key_move const& m : r.moves) {
    CHECK((crosses(m) || m.round == libra::detail::network_round(1) + 1));
  }
}

TEST_CASE("every receiver gets its keys once") {
  key_routes const r = routes({rows(4, 0, 3072), rows(5, 3072, tokens), rows(6, 1024, 2048)}, 1, 4);
  for (auto const& [rank, wanted] : std::map<std::int32_t, std::int64_t>{{4, 3072}, {5, tokens}, {6, 2048}}) {
    std::vector<libra::row_range> got;
    for (key_move const& m : r.moves) {
      if (m.to == rank_id(rank) && !m.target_transit) {
        got.push_back(m.tokens);
      }
    }
    std::ranges::sort(got, {}, &libra::row_range::begin);
    std::int64_t next = 0;
    for (libra::row_range const& g : got) {
      CHECK(g.begin == next);
      next = g.end;
    }
    CHECK(next == wanted);
  }
}

TEST_CASE("what one rank of a node needs comes from home at once") {
  key_routes const r = routes({rows(6, 0, tokens)}, 1, 4);
  CHECK(r.transits.empty());
  for (key_move const& m : r.moves) {
    CHECK(m.local >= 0);
    CHECK(m.round == libra::detail::network_round(1));
  }
  CHECK(tokens_of(r, crosses) == tokens);
}

TEST_CASE("keys of the own node come in its first round, without a detour") {
  key_routes const r = routes({rows(0, 1024, 2048), rows(3, 0, 3072)}, 1, 4);
  CHECK(r.transits.empty());
  for (key_move const& m : r.moves) {
    CHECK(m.local >= 0);
    CHECK(m.round == libra::detail::near_round(1));
  }
}

TEST_CASE("keys of the own node come just before the wave that needs them") {
  for (key_move const& m : routes({rows(0, 0, 1024), rows(3, 1024, tokens)}, 5, 4, {5, 2}).moves) {
    CHECK(m.round == libra::detail::near_round(m.to == rank_id(0) ? 5 : 2));
  }
}

TEST_CASE("what a neighbour got in an earlier wave comes from there, a round after it could have it") {
  key_routes const r = routes({rows(4, 0, tokens), rows(5, 0, 2048)}, 4, 4, {1, 4});
  CHECK(tokens_of(r, crosses) == tokens);
  std::int64_t passed = 0;
  for (key_move const& m : r.moves) {
    if (m.to == rank_id(5)) {
      CHECK(m.from == rank_id(4));
      CHECK(m.local < 0);
      CHECK(m.round == libra::detail::passing_round(2));
      CHECK(m.wave == 4);
      passed += m.tokens.size();
    }
  }
  CHECK(passed == 2048);
}

TEST_CASE("keys come before the wave that needs them") {
  key_routes const r = routes({rows(4, 0, tokens)}, 5, 4, {5});
  for (key_move const& m : r.moves) {
    CHECK(m.wave == 5);
    CHECK(m.round == libra::detail::network_round(5 - libra::detail::keys_ahead));
  }
}

TEST_CASE("without nodes every rank is sent what it needs from home") {
  key_routes const r = routes({rows(4, 0, 3072), rows(5, 3072, tokens)}, 1, 0);
  CHECK(r.transits.empty());
  CHECK(tokens_of(r, crosses) == 3072 + tokens);
}

}  // namespace
