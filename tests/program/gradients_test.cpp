#include "support/hand_pool.hpp"
#include "support/printing.hpp"

#include <libra/program/gradients.hpp>
#include <libra/program/waves.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace {

using libra::rank_id;
using libra::row_range;
using libra::segment_id;
using libra::detail::gradient_piece;
using libra::detail::gradient_router;
using libra::detail::gradient_routes;
using libra::detail::join_gradient_panels;
using libra::detail::none;
using libra::detail::rank_tiles;

constexpr std::int64_t unshared = std::int64_t{1} << 40;

std::vector<rank_tiles> joined() {
  libra::pool_batch const batch = libra::test::hand_pool();
  libra::node_map const nodes(batch, 0);
  std::vector<rank_tiles> ranks =
      libra::detail::wave_cutter(batch, nodes, libra::pass::backward, {}, 1)(libra::test::hand_tiles());
  join_gradient_panels(libra::test::hand_pool(), ranks);
  return ranks;
}

TEST_CASE("only a tile that is alone on its keys adds to home directly") {
  std::vector<rank_tiles> const ranks = joined();
  // Rank 2: segment 1 is its own and nobody else works on it; half of segment 2 goes through a panel.
  CHECK(ranks[2].tiles[0].gradient == none);
  CHECK(ranks[2].tiles[1].gradient == none);
  CHECK(ranks[2].tiles[2].gradient == 0);
  REQUIRE(ranks[2].gradients.size() == 1);
  CHECK(ranks[2].gradients[0].keys == row_range{0, 60});
  // Rank 0's rows of segment 0 are at home, but ranks 1 and 3 add to the same keys.
  CHECK(ranks[0].tiles[0].gradient != none);
  CHECK(ranks[0].gradients.size() == 3);
  CHECK(ranks[3].gradients.size() == 2);
}

TEST_CASE("panels are cut where homes end, and listed by home, segment, head, contributor and token") {
  libra::pool_batch const batch = libra::test::hand_pool();
  libra::node_map const nodes(batch, 0);
  std::vector<rank_tiles> const ranks = joined();
  auto const homes = gradient_router(batch, nodes, ranks, unshared)().homes;
  REQUIRE(homes.size() == 4);
  // Rank 0 holds keys [0, 128) of segment 0: for each of two heads it gets its own, rank 1's and rank 3's part.
  REQUIRE(homes[0].size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    gradient_piece const& g = homes[0][i];
    CHECK(g.segment == segment_id(0));
    CHECK(g.kv_head == static_cast<std::int32_t>(i / 3));
    CHECK(g.from == rank_id(std::vector{0, 1, 3}[i % 3]));
    CHECK(g.tokens == row_range{0, 128});
    CHECK(g.local == 0);
  }
  // Rank 1 holds [128, 256): rank 1 itself adds to [128, 192), rank 3 to all of it.
  REQUIRE(homes[1].size() == 4);
  CHECK(homes[1][0].from == rank_id(1));
  CHECK(homes[1][0].tokens == row_range{128, 192});
  CHECK(homes[1][1].from == rank_id(3));
  CHECK(homes[1][1].tokens == row_range{128, 256});
  // Segment 2 lies on ranks 2 (28 tokens from local row 100) and 3.
  REQUIRE(homes[2].size() == 2);
  CHECK(homes[2][0].tokens == row_range{0, 28});
  CHECK(homes[2][0].local == 100);
  CHECK(homes[2][0].from == rank_id(2));
  CHECK(homes[2][1].from == rank_id(0));
  CHECK(homes[3].size() == 2);
  CHECK(homes[3][0].tokens == row_range{28, 60});
}

TEST_CASE("parts for a home in another node are added up inside their own, spread over its ranks") {
  // Nodes of two ranks: ranks 2 and 3 each compute half of segment 0, which lives in the other node.
  libra::pool_batch const batch = libra::test::hand_pool();
  libra::node_map const nodes(batch, 2);
  std::vector<libra::tile> tiles;
  for (std::int32_t h = 0; h < 4; h += 2) {
    tiles.push_back({segment_id(0), rank_id(2), h, h + 2, 0, 128});
    tiles.push_back({segment_id(0), rank_id(3), h, h + 2, 128, 256});
  }
  std::vector<rank_tiles> ranks = libra::detail::wave_cutter(batch, nodes, libra::pass::backward, {}, 1)(tiles);
  libra::detail::join_gradient_panels(batch, ranks);
  gradient_routes const routes = gradient_router(batch, nodes, ranks, unshared)();
  // Keys [0, 128) have two parts, [128, 256) one. The sums of both heads are shared out evenly.
  std::int64_t of_rank[2]{};
  for (libra::detail::node_sum const& s : routes.sums) {
    CHECK(s.parts.size() == 2);
    CHECK(s.round == 1);
    CHECK(s.tokens.end <= 128);
    of_rank[s.at.value - 2] += s.tokens.size();
  }
  CHECK(of_rank[0] == 128);
  CHECK(of_rank[1] == 128);
  for (gradient_piece const& g : routes.homes[0]) {
    CHECK(g.sum != none);
    CHECK(g.round == 2);
    CHECK(g.from == routes.sums[g.sum].at);
  }
  for (gradient_piece const& g : routes.homes[1]) {
    CHECK(g.sum == none);
    CHECK(g.from == rank_id(3));
    CHECK(g.tokens == row_range{128, 256});
    CHECK(g.round == 1);
  }
  CHECK(routes.homes[1].size() == 2);
}

TEST_CASE("what several nodes have for the same rows is added up between them, a slice each, and goes home once") {
  // Nodes of one rank: ranks 1, 2 and 3 have parts for rank 0, which holds keys [0, 128) of segment 0.
  libra::pool_batch const batch = libra::test::hand_pool();
  libra::node_map const nodes(batch, 1);
  std::vector<libra::tile> const tiles{{segment_id(0), rank_id(1), 0, 2, 0, 128},
                                       {segment_id(0), rank_id(2), 0, 2, 128, 192},
                                       {segment_id(0), rank_id(3), 0, 2, 192, 256}};
  std::vector<rank_tiles> ranks = libra::detail::wave_cutter(batch, nodes, libra::pass::backward, {}, 1)(tiles);
  libra::detail::join_gradient_panels(batch, ranks);
  gradient_routes const routes = gradient_router(batch, nodes, ranks, 0)();
  REQUIRE(routes.homes[0].size() == 3);
  std::int64_t next = 0;
  for (gradient_piece const& g : routes.homes[0]) {
    CHECK(g.tokens.begin == next);
    CHECK(g.local == next);
    next = g.tokens.end;
    CHECK(g.round == 2);
    REQUIRE(g.sum != none);
    libra::detail::node_sum const& s = routes.sums[g.sum];
    CHECK(s.at == g.from);
    CHECK(s.tokens == g.tokens);
    CHECK(s.round == 1);
    CHECK(s.last_sent == 2);
    REQUIRE(s.parts.size() == 3);
    for (std::int32_t i = 0; i < 3; ++i) {
      CHECK(s.parts[static_cast<std::size_t>(i)].from == rank_id(i + 1));
    }
  }
  CHECK(next == 128);
  // Keys [128, 256) are rank 1's: [192, 256) come from rank 3 alone, the others from two ranks.
  for (gradient_piece const& g : routes.homes[1]) {
    CHECK((g.sum == none) == (g.tokens.begin >= 192));
  }
}

/// What ranks of nodes of `ranks_per_node` send home for tiles of the hand pool in one wave.
gradient_routes routes_of(std::vector<libra::tile> const& tiles, std::int32_t ranks_per_node,
                          std::int64_t least_tokens) {
  libra::pool_batch const batch = libra::test::hand_pool();
  libra::node_map const nodes(batch, ranks_per_node);
  std::vector<rank_tiles> ranks = libra::detail::wave_cutter(batch, nodes, libra::pass::backward, {}, 1)(tiles);
  join_gradient_panels(batch, ranks);
  return gradient_router(batch, nodes, ranks, least_tokens)();
}

TEST_CASE("the sums of every round are spread over the ranks of a node") {
  // Nodes of two ranks. Ranks 2 and 3 share rows [0, 128) of both heads, one head after the other.
  libra::pool_batch const batch = libra::test::hand_pool();
  libra::node_map const nodes(batch, 2);
  std::vector<libra::tile> tiles;
  for (std::int32_t h = 0; h < 4; h += 2) {
    tiles.push_back({segment_id(0), rank_id(2), h, h + 2, 0, 64});
    tiles.push_back({segment_id(0), rank_id(3), h, h + 2, 64, 128});
  }
  std::vector<rank_tiles> ranks = libra::detail::wave_cutter(batch, nodes, libra::pass::backward, {}, 4)(tiles);
  join_gradient_panels(batch, ranks);
  gradient_routes const routes = gradient_router(batch, nodes, ranks, unshared)();
  std::map<std::int32_t, std::array<std::int64_t, 2>> tokens;
  for (libra::detail::node_sum const& s : routes.sums) {
    tokens[s.round][static_cast<std::size_t>(s.at.value - 2)] += s.tokens.size();
  }
  CHECK(tokens.size() == 2);
  for (auto const& [round, of] : tokens) {
    CHECK(of[0] == of[1]);
  }
}

TEST_CASE("what a single rank has leaves its node through neighbours too") {
  // Nodes of two ranks. Rank 2 alone computes the rows of ranks 0 and 1, which lie in the other node.
  gradient_routes const routes =
      routes_of({{segment_id(0), rank_id(2), 0, 2, 0, 256}, {segment_id(0), rank_id(2), 2, 4, 0, 256}}, 2, 0);
  std::int64_t of_rank[2]{};
  for (auto const& pieces : routes.homes) {
    for (gradient_piece const& g : pieces) {
      of_rank[g.from.value - 2] += g.tokens.size();
      if (g.from == rank_id(3)) {
        REQUIRE(g.sum != none);
        REQUIRE(routes.sums[g.sum].parts.size() == 1);
        CHECK(routes.sums[g.sum].parts[0].from == rank_id(2));
      }
    }
  }
  CHECK(of_rank[0] == 256);
  CHECK(of_rank[1] == 256);
}

TEST_CASE("parts that many ranks of the home's own node have are added up by all of them") {
  // One node. Ranks 1 to 3 compute rows of head 0 that see the keys of rank 0, which computes some itself.
  libra::pool_batch const batch = libra::test::hand_pool();
  libra::node_map const nodes(batch, 0);
  std::vector<libra::tile> const tiles{{segment_id(0), rank_id(0), 0, 2, 0, 64},
                                       {segment_id(0), rank_id(1), 0, 2, 64, 128},
                                       {segment_id(0), rank_id(2), 0, 2, 128, 192},
                                       {segment_id(0), rank_id(3), 0, 2, 192, 256}};
  std::vector<rank_tiles> ranks = libra::detail::wave_cutter(batch, nodes, libra::pass::backward, {}, 1)(tiles);
  join_gradient_panels(batch, ranks);
  CHECK(gradient_router(batch, nodes, ranks, unshared)().sums.empty());
  gradient_routes const routes = gradient_router(batch, nodes, ranks, 0)();
  // How often rank 0 gets each rank's part of each key, in a sum or as it is.
  std::map<std::int32_t, std::array<int, 128>> times;
  std::map<std::int32_t, std::int64_t> added;
  for (gradient_piece const& g : routes.homes[0]) {
    auto const count = [&](rank_id r) {
      for (std::int64_t t = g.tokens.begin; t < g.tokens.end; ++t) ++times[r.value][static_cast<std::size_t>(t)];
    };
    if (g.sum == none) {
      count(g.from);
      continue;
    }
    libra::detail::node_sum const& sum = routes.sums[g.sum];
    CHECK(g.from == sum.at);
    CHECK(g.round == sum.round + 1);
    added[g.from.value] += g.tokens.size();
    for (libra::detail::node_sum::part const& part : sum.parts) {
      CHECK(part.from != rank_id(0));  // what the home has stays there
      count(part.from);
    }
  }
  CHECK(added.size() == 3);
  CHECK_FALSE(added.contains(0));
  for (std::int32_t const r : {1, 2, 3}) {
    CHECK(std::ranges::all_of(times[r], [](int n) { return n == 1; }));
  }
  CHECK(std::ranges::count(times[0], 1) == 64);
}

TEST_CASE("what some nodes have long before another is added up without it") {
  // Four nodes of a rank. Ranks 1 and 2 have their part of rank 0's keys after the first wave, rank 3 after the ninth.
  libra::pool_batch const batch = libra::test::hand_pool();
  libra::node_map const nodes(batch, 1);
  std::vector<rank_tiles> ranks(4);
  for (std::size_t r = 1; r < 4; ++r) {
    ranks[r].gradients.push_back({segment_id(0), 0, {0, 128}, 1, r == 3 ? 9 : 1, 0, 0, {none, none}});
  }
  gradient_routes const routes = gradient_router(batch, nodes, ranks, 0)();
  REQUIRE(routes.sums.size() == 2);
  for (libra::detail::node_sum const& s : routes.sums) {
    CHECK(s.round == 1);
    CHECK(s.tokens.size() == 64);
    CHECK(s.parts.size() == 2);
    CHECK(s.at != rank_id(3));
  }
  REQUIRE(routes.homes[0].size() == 3);
  CHECK(routes.homes[0][2].from == rank_id(3));
  CHECK(routes.homes[0][2].round == 9);
  CHECK(routes.homes[0][2].tokens == row_range{0, 128});
}

}  // namespace
