#include "support/hand_pool.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/program/lowering.hpp>
#include <libra/program/verifier.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::location;
using libra::op;
using libra::op_kind;
using libra::pass;
using libra::pool_batch;
using libra::pool_program;
using libra::program;
using libra::queue;
using libra::rank_id;
using libra::region;
using libra::segment_id;
using libra::tensor;
using libra::tile;
using libra::tile_task;
using libra::transfer;

TEST_CASE("by hand: a pool that works at home is one op a rank, in place") {
  pool_batch batch = libra::test::hand_pool();
  batch.segments = {{{libra::document_id(0), 0, 128}, libra::sequence_id(0), libra::slot_id(0), 0},
                    {{libra::document_id(1), 0, 128}, libra::sequence_id(0), libra::slot_id(0), 128}};
  batch.slots = 1;
  std::vector<tile> const tiles{{segment_id(0), rank_id(0), 0, 2, 0, 128},
                                {segment_id(0), rank_id(0), 2, 4, 0, 128},
                                {segment_id(1), rank_id(1), 0, 2, 0, 128},
                                {segment_id(1), rank_id(1), 2, 4, 0, 128}};
  pool_program const programs = libra::lower(batch, tiles, pass::forward, {.width = {}, .waves = 3});
  CHECK(libra::verify(batch, programs));
  for (program const& p : programs.ranks) {
    REQUIRE(p.ops.size() == 1);
    CHECK(p.ops[0].kind == op_kind::attend);
    CHECK(p.sends.empty());
    CHECK(p.workspace_bytes == 0);
    for (tile_task const& t : p.tiles) {
      for (tensor const x : {tensor::q, tensor::k, tensor::v, tensor::o, tensor::lse}) {
        CHECK(t.where(x) == location::home(0));
      }
      CHECK(t.where(tensor::dq) == location::nowhere());
    }
  }
}

TEST_CASE("by hand: what rank 3 fetches, computes and delivers") {
  pool_program const programs = libra::test::hand_program(pass::forward);
  program const& p = programs.ranks[3];
  REQUIRE(p.ops.size() == 4);
  CHECK(p.ops[0].kind == op_kind::clear);
  CHECK(p.clears.size() == 2);
  CHECK(p.ops[1].on == queue::fetch);
  auto const received = [&](region const& what) {
    auto const t = std::ranges::find(p.receives, what, &transfer::what);
    REQUIRE(t != p.receives.end());
    return *t;
  };
  CHECK(received({tensor::q, segment_id(0), 0, 2, {192, 256}}).peer == rank_id(1));
  // Ranks 0 to 2 have keys up to some row and rank 3 up to the last, so that its keys come in pieces.
  transfer const first = received({tensor::k, segment_id(0), 0, 1, {0, 128}});
  CHECK(first.peer == rank_id(0));
  transfer const second = received({tensor::k, segment_id(0), 0, 1, {128, 192}});
  CHECK(second.peer == rank_id(1));
  // The pieces of a panel lie behind each other: 128 rows of 32 bytes.
  CHECK(second.at.byte() == first.at.byte() + 128 * 32);
  CHECK(p.ops[2].kind == op_kind::attend);
  CHECK(p.ops[2].after[static_cast<std::size_t>(queue::fetch)] == 1);
  CHECK(p.tiles[0].rows == libra::row_range{192, 256});
  CHECK(p.tiles[0].keys == libra::row_range{0, 256});
  CHECK(p.tiles[0].where(tensor::k) == first.at);
  CHECK(p.ops[3].on == queue::deliver);
  CHECK(p.sends_of(p.ops[3])[0].what == region{tensor::o, segment_id(0), 0, 2, {192, 256}});
  CHECK(p.sends_of(p.ops[3])[0].peer == rank_id(1));
}

TEST_CASE("backward begins with delta at home and ends with sums at home") {
  pool_program const programs = libra::test::hand_program(pass::backward);
  for (std::size_t r = 0; r < programs.ranks.size(); ++r) {
    program const& p = programs.ranks[r];
    CAPTURE(r);
    CHECK(p.ops.front().kind == op_kind::row_dot);
    CHECK(p.ops.back().kind == op_kind::reduce);
    std::int64_t rows = 0;
    for (libra::dot_task const& t : p.dots) {
      CHECK(t.what.what == tensor::delta);
      CHECK(t.what.heads() == 4);
      rows += t.what.tokens.size();
    }
    CHECK(rows == std::vector<std::int64_t>{128, 128, 128, 32}[r]);
  }
  // Partial sums travel in fp32 and are added in the order of ranks.
  program const& home = programs.ranks[0];
  REQUIRE_FALSE(home.reduces.empty());
  CHECK(home.reduces[0].what == region{tensor::dk, segment_id(0), 0, 1, {0, 128}});
  CHECK(home.reduces[0].last - home.reduces[0].first == 3);
}

TEST_CASE("waves: remote tiles are cut into rounds that every rank takes part in") {
  for (std::int32_t waves = 1; waves <= 4; ++waves) {
    pool_program const programs = libra::test::hand_program(pass::forward, waves);
    CHECK(libra::verify(libra::test::hand_pool(), programs));
    auto const rounds = std::ranges::count(programs.ranks[3].ops, queue::fetch, &op::on);
    CHECK(rounds >= 1);
    CHECK(rounds <= libra::detail::fetch_rounds(waves));
    for (program const& p : programs.ranks) {
      CHECK(std::ranges::count(p.ops, queue::fetch, &op::on) == rounds);
      CHECK(std::ranges::count(p.ops, queue::deliver, &op::on) == waves);
    }
  }
}

TEST_CASE("ranks without tiles still take part") {
  std::vector<tile> tiles = libra::test::hand_tiles();
  for (tile& t : tiles) {
    t.rank = rank_id(1);
  }
  for (pass const p : {pass::forward, pass::backward}) {
    pool_program const programs = libra::lower(libra::test::hand_pool(), tiles, p, {.width = {}, .waves = 2});
    CHECK(libra::verify(libra::test::hand_pool(), programs).what == "");
    CHECK(programs.ranks[3].tiles.empty());
  }
}

TEST_CASE("the order in which tiles are listed does not matter for validity") {
  libra::random_bits bits(61);
  std::vector<tile> tiles = libra::test::hand_tiles();
  for (int i = 0; i < 50; ++i) {
    libra::shuffle(std::span(tiles), bits);
    for (pass const p : {pass::forward, pass::backward}) {
      CHECK(libra::verify(libra::test::hand_pool(), libra::lower(libra::test::hand_pool(), tiles, p)).what == "");
    }
  }
}

TEST_CASE("every way to give a segment's heads and rows to ranks lowers to a valid program") {
  // Not only what a dispatcher would do: each block of rows and heads goes to a rank of its own choice.
  libra::random_bits bits(62);
  for (int i = 0; i < 300; ++i) {
    pool_batch batch = libra::test::hand_pool();
    switch (bits.below(3)) {
      case 0:
        batch.shape.mask = libra::attention_mask::full();
        break;
      case 1:
        batch.shape.mask = libra::attention_mask::window(bits.between(1, 200));
        break;
      default:
        break;
    }
    std::vector<tile> tiles;
    for (std::size_t s = 0; s < batch.segments.size(); ++s) {
      for (std::int32_t h = 0; h < 4;) {
        std::int32_t const end = h % 2 == 0 && bits.below(2) == 0 ? h + 2 : h + 1;
        for (std::int64_t row = 0; row < batch.length(segment_id(s));) {
          std::int64_t const rows = bits.between(1, batch.length(segment_id(s)) - row);
          tiles.push_back({segment_id(s), rank_id(static_cast<std::int32_t>(bits.below(4))), h, end, row, row + rows});
          row += rows;
        }
        h = end;
      }
    }
    auto const waves = static_cast<std::int32_t>(bits.between(1, 4));
    for (pass const p : {pass::forward, pass::backward}) {
      INFO("case ", i, ", mask ", static_cast<int>(batch.shape.mask.kind), " ", batch.shape.mask.width_tokens);
      REQUIRE(libra::verify(batch, libra::lower(batch, tiles, p, {.width = {}, .waves = waves})).what == "");
    }
  }
}

TEST_CASE("options and tiles that cannot be lowered are refused") {
  std::vector<tile> tiles = libra::test::hand_tiles();
  pool_batch const batch = libra::test::hand_pool();
  CHECK_THROWS_WITH_AS(static_cast<void>(libra::lower(batch, tiles, pass::forward, {.width = {}, .waves = 0})),
                       "waves is 0, expected at least 1", libra::input_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(libra::lower(batch, tiles, pass::forward, {.width = {2, 0, 4}})),
                       "bytes of a statistic are 0, expected at least 1", libra::input_error);
  tiles[3].rank = rank_id(4);
  CHECK_THROWS_WITH_AS(static_cast<void>(libra::lower(batch, tiles, pass::forward)),
                       "tile of segment 0 is on rank 4, expected 0 to 3", libra::input_error);
}

TEST_CASE("no tiles, no segments: programs that only clear padding") {
  pool_batch batch = libra::test::hand_pool();
  batch.segments.clear();
  for (pass const p : {pass::forward, pass::backward}) {
    pool_program const programs = libra::lower(batch, {}, p);
    CHECK(libra::verify(batch, programs).what == "");
    for (program const& rank : programs.ranks) {
      CHECK(rank.ops.size() == 1);
    }
  }
}

}  // namespace
