#include "support/printing.hpp"

#include <libra/program/key_crossings.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace {

using libra::node_map;
using libra::pool_batch;
using libra::rank_id;
using libra::row_range;
using libra::segment_id;
using libra::detail::key_crossing;
using libra::detail::key_crossings;
using libra::detail::key_move;
using libra::detail::key_move_list;
using libra::detail::key_receiver;
using libra::detail::key_routes;
using libra::detail::rank_tiles;

constexpr std::int64_t alone = std::int64_t{1} << 40;

/// Four nodes of four ranks. A document of 512 tokens lies on ranks 0 to 3.
pool_batch four_nodes() {
  return {.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = libra::attention_mask::causal()},
          .home = {512, 4},
          .slots = 4,
          .first_rank = 0,
          .segments = {{{libra::document_id(0), 0, 512}, libra::sequence_id(0), libra::slot_id(0), 0}}};
}

/// A wave's crossings, as a router lists them.
struct wave_of_needs {
  pool_batch batch = four_nodes();
  std::vector<rank_tiles> ranks{16};
  std::vector<key_crossing> crossings;
  std::vector<key_receiver> receivers;
  std::map<std::int32_t, std::int64_t> wanted;

  /// `by`, of one node, lack `keys`.
  void lack(row_range keys, std::initializer_list<std::int32_t> by) {
    std::size_t const first = receivers.size();
    for (std::int32_t const r : by) {
      receivers.push_back({rank_id(r), 0, 3});
      ranks[static_cast<std::size_t>(r)].inputs.assign(
          1, {segment_id(0), 0, {0, 512}, 3, 3, std::numeric_limits<std::int32_t>::max()});
      wanted[r] += keys.size();
    }
    batch.for_each_home(segment_id(0), keys, [&](rank_id home, row_range tokens, std::int64_t local) {
      crossings.push_back({segment_id(0), 0, tokens, home, local, *by.begin() / 4, first, receivers.size()});
    });
  }

  key_routes routes(std::int64_t least_tokens) {
    node_map const nodes(batch, 4);
    key_move_list moves(ranks);
    key_crossings(batch, nodes, least_tokens, moves)(1, crossings, receivers);
    return moves.take();
  }
};

std::int64_t tokens_of(key_routes const& r, auto accepts) {
  std::int64_t sum = 0;
  for (key_move const& m : r.moves) {
    sum += accepts(m) ? m.tokens.size() : 0;
  }
  return sum;
}
bool crosses(key_move const& m) { return m.from.value / 4 != m.to.value / 4; }
bool leaves(key_move const& m) { return m.from.value < 4; }

/// Every move takes keys from where they are by then, and every receiver gets its own once.
void check_presence(key_routes const& r, wave_of_needs const& needs) {
  std::map<std::int32_t, std::vector<std::pair<std::int32_t, std::int64_t>>> came;  // rank: round and token
  std::map<std::int32_t, std::int64_t> got;
  for (key_move const& m : r.moves) {
    for (std::int64_t t = m.tokens.begin; t < m.tokens.end; ++t) {
      if (m.local >= 0) {
        CHECK(needs.batch.home_of(segment_id(0), t) == m.from);
      } else {
        auto const& held = came[m.from.value];
        CHECK(std::ranges::any_of(held, [&](auto const& c) { return c.first < m.round && c.second == t; }));
      }
      came[m.to.value].emplace_back(m.round, t);
    }
    got[m.to.value] += m.target_transit ? 0 : m.tokens.size();
    CHECK((m.target_transit || m.wave == 3));
  }
  std::erase_if(got, [](auto const& g) { return g.second == 0; });
  CHECK(got == needs.wanted);
}

wave_of_needs several_nodes() {
  wave_of_needs needs;
  needs.lack({0, 256}, {4});
  needs.lack({256, 512}, {4, 5});
  needs.lack({0, 512}, {9});
  needs.lack({0, 256}, {12, 13});
  return needs;
}

TEST_CASE("what several nodes need leaves home once, and they share it") {
  wave_of_needs needs = several_nodes();
  key_routes const r = needs.routes(0);
  check_presence(r, needs);
  CHECK(tokens_of(r, leaves) == 512);
  // The first 256 keys cross twice more, the others once more.
  CHECK(tokens_of(r, [](key_move const& m) { return crosses(m) && !leaves(m); }) == 2 * 256 + 256);
  for (key_move const& m : r.moves) {
    CHECK((!crosses(m) || leaves(m) || m.round == libra::detail::sharing_round(1)));
  }
}

TEST_CASE("if that relieves home's ports by too little, every node gets all from there") {
  wave_of_needs needs = several_nodes();
  key_routes const r = needs.routes(alone);
  check_presence(r, needs);
  CHECK(tokens_of(r, leaves) == 512 + 512 + 256);
  // Seven hundred and sixty-eight keys of one head less, over four ports.
  CHECK(tokens_of(several_nodes().routes(191), leaves) == 512);
  CHECK(tokens_of(several_nodes().routes(192), leaves) == 512 + 512 + 256);
}

TEST_CASE("a few keys are not cut into slices") {
  wave_of_needs needs;
  needs.lack({0, 31}, {4});
  needs.lack({0, 31}, {8});
  CHECK(tokens_of(needs.routes(0), leaves) == 2 * 31);
  wave_of_needs more;
  more.lack({0, 32}, {4});
  more.lack({0, 32}, {8});
  CHECK(tokens_of(more.routes(0), leaves) == 32);
}

TEST_CASE("what goes on to other nodes leaves through all ports of a node, whoever of it needs the keys") {
  // One rank each of three nodes: all of them pass their slice on to the two others.
  wave_of_needs needs;
  needs.lack({0, 512}, {4});
  needs.lack({0, 512}, {9});
  needs.lack({0, 512}, {14});
  key_routes const r = needs.routes(0);
  check_presence(r, needs);
  std::map<std::int32_t, std::int64_t> passed_on;
  for (key_move const& m : r.moves) {
    if (crosses(m) && !leaves(m)) {
      passed_on[m.from.value] += m.tokens.size();
    }
  }
  CHECK(passed_on.size() == 12);
  for (auto const& [rank, tokens] : passed_on) {
    INFO("rank ", rank);
    CHECK(tokens >= 2 * 42);
    CHECK(tokens <= 2 * 44);
  }
}

TEST_CASE("what a single rank needs enters its node through neighbours' ports as well, if it is much") {
  wave_of_needs needs;
  needs.lack({0, 512}, {6});
  key_routes const r = needs.routes(0);
  check_presence(r, needs);
  std::map<std::int32_t, std::int64_t> entered;
  for (key_move const& m : r.moves) {
    if (crosses(m)) {
      entered[m.to.value] += m.tokens.size();
    }
  }
  CHECK(entered == std::map<std::int32_t, std::int64_t>{{4, 128}, {5, 128}, {6, 128}, {7, 128}});
}

}  // namespace
