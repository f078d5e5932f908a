#include "support/hand_pool.hpp"

#include <libra/program/op_effects.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using libra::location;
using libra::op;
using libra::op_kind;
using libra::op_order;
using libra::pass;
using libra::rank_id;
using libra::region;
using libra::segment_id;
using libra::tensor;

/// Rank 0 of the hand-made pool, which holds keys [0, 128) of segment 0; ops of one queue follow one another.
struct rank_zero {
  /// What is wrong with an op of one task, or of none.
  std::string run(op_kind kind, std::uint32_t tasks = 1) {
    store.enter(rank_id(0), {static_cast<std::size_t>(next), &order, 1});
    op const o{.kind = kind, .on = libra::queue::compute, .round = 0, .after = {}, .items = {0, tasks}, .receives = {}};
    try {
      effects(code, o, 0, next++);
    } catch (libra::detail::broken const& b) {
      return b.what;
    }
    return {};
  }

  libra::pool_batch batch = libra::test::hand_pool();
  libra::pool_program programs = [] {
    libra::pool_program four{.direction = pass::backward, .width = {}, .ranks = {}};
    four.ranks.resize(4);
    four.ranks[0].workspace_bytes = 1 << 16;
    return four;
  }();
  op_order order = [] {
    std::array<op, 8> ops;
    for (op& o : ops) {
      o.on = libra::queue::compute;
    }
    return op_order(ops);
  }();
  libra::detail::region_store store{batch, programs};
  libra::detail::tile_ledger ledger;
  libra::detail::op_effects effects{batch, pass::backward, store, ledger};
  libra::program code;
  std::int32_t next = 0;
};

constexpr libra::row_range first_rows{0, 8};

region keys_of(tensor x) { return {x, segment_id(0), 0, 1, first_rows}; }

TEST_CASE("a batch of tiles belongs to its pass") {
  rank_zero rank;
  CHECK(rank.run(op_kind::attend, 0) == "attend in the other pass");
  CHECK(rank.run(op_kind::attend_backward, 0) == "");
}

TEST_CASE("only sums are cleared, at home as what they become and elsewhere as parts") {
  rank_zero rank;
  rank.code.clears = {{keys_of(tensor::dk), location::home(0)}};
  CHECK(rank.run(op_kind::clear) == "");
  rank.code.clears = {{keys_of(tensor::dk_part), location::workspace(0)}};
  CHECK(rank.run(op_kind::clear) == "");
  rank.code.clears = {{keys_of(tensor::dk_part), location::home(16)}};
  CHECK(rank.run(op_kind::clear).find("is at home") != std::string::npos);
  rank.code.clears = {{keys_of(tensor::k), location::workspace(0)}};
  CHECK(rank.run(op_kind::clear).find("which is not a sum") != std::string::npos);
}

TEST_CASE("a sum is made of parts, and may be rounded in a workspace") {
  rank_zero rank;
  rank.code.clears = {{keys_of(tensor::dk_part), location::workspace(0)}};
  REQUIRE(rank.run(op_kind::clear) == "");
  rank.code.partials = {location::workspace(0)};
  rank.code.reduces = {{keys_of(tensor::dk), location::workspace(1024), 0, 1}};
  CHECK(rank.run(op_kind::reduce) == "");
  // What is rounded is no part any more.
  rank.code.partials = {location::workspace(1024)};
  rank.code.reduces = {{keys_of(tensor::dk), location::home(0), 0, 1}};
  CHECK(rank.run(op_kind::reduce) != "");
  rank.code.reduces = {{keys_of(tensor::k), location::workspace(2048), 0, 1}};
  CHECK(rank.run(op_kind::reduce).find("which is not a sum") != std::string::npos);
}

}  // namespace
