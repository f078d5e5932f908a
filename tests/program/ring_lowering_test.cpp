#include <libra/core/random.hpp>
#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/usp.hpp>
#include <libra/dispatch/zigzag_ring.hpp>
#include <libra/program/lowering.hpp>
#include <libra/program/verifier.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using libra::key_part;
using libra::pass;
using libra::pool_batch;
using libra::pool_program;
using libra::tensor;

pool_batch random_pool(libra::random_bits& bits) {
  pool_batch batch;
  batch.shape.kv_heads = static_cast<std::int32_t>(bits.between(1, 3));
  batch.shape.q_heads = batch.shape.kv_heads * static_cast<std::int32_t>(bits.between(1, 4));
  batch.shape.head_dim = 16;
  switch (bits.below(3)) {
    case 0:
      batch.shape.mask = libra::attention_mask::full();
      break;
    case 1:
      batch.shape.mask = libra::attention_mask::window(bits.between(1, 60));
      break;
    default:
      break;
  }
  batch.slots = static_cast<std::int32_t>(bits.between(1, 3));
  batch.home = {bits.between(1, 200), static_cast<std::int32_t>(bits.between(1, 6)),
                bits.below(3) == 0 ? libra::sharding::contiguous : libra::sharding::zigzag};
  for (std::int32_t slot = 0; slot < batch.slots; ++slot) {
    std::int64_t at = 0;
    while (at < batch.home.window_tokens && bits.below(8) != 0) {
      std::int64_t const length = bits.between(1, batch.home.window_tokens - at);
      batch.segments.push_back(
          {{libra::document_id(at), 0, length}, libra::sequence_id(slot), libra::slot_id(slot), at});
      at += length;
    }
  }
  batch.number_rows();
  return batch;
}

template <class Dispatcher>
pool_program lowered(pool_batch const& batch, Dispatcher const& dispatch, pass p) {
  auto const tiles = dispatch(batch, libra::pair_count{}, libra::topology{});
  return libra::lower(batch, tiles.of(p), p, {.flow = tiles.flow});
}

TEST_CASE("rings of random pools pass the verifier, on zigzag and on contiguous homes") {
  libra::random_bits bits(31);
  for (int i = 0; i < 120; ++i) {
    pool_batch const batch = random_pool(bits);
    std::int32_t const head_ranks = batch.home.cp % 2 == 0 ? 2 : batch.home.cp;
    for (pass const p : {pass::forward, pass::backward}) {
      CAPTURE(i);
      CAPTURE(static_cast<int>(p));
      CHECK(libra::verify(batch, lowered(batch, libra::zigzag_ring{}, p)).what == "");
      CHECK(libra::verify(batch, lowered(batch, libra::usp{head_ranks}, p)).what == "");
    }
  }
}

pool_batch ring_of_three() {
  pool_batch batch;
  batch.shape = {2, 1, 16, {}};
  batch.home = {24, 3, libra::sharding::zigzag};
  batch.slots = 1;
  batch.segments.push_back({{libra::document_id(0), 0, 24}, libra::sequence_id(0), libra::slot_id(0), 0});
  batch.number_rows();
  return batch;
}

TEST_CASE("on zigzag homes only keys move: each rank passes on the others' keys, and nothing else") {
  pool_batch const batch = ring_of_three();
  pool_program const forward = lowered(batch, libra::zigzag_ring{}, pass::forward);
  for (libra::program const& p : forward.ranks) {
    std::int64_t rows = 0;
    for (libra::transfer const& t : p.sends) {
      CHECK((t.what.what == libra::tensor::k || t.what.what == libra::tensor::v));
      rows += t.what.tokens.size();
    }
    CHECK(rows == 2 * 2 * 8);  // two rounds of keys and values of 8 rows
  }
}

TEST_CASE("planted faults in a ring are found") {
  pool_batch const batch = ring_of_three();
  pool_program const forward = lowered(batch, libra::zigzag_ring{}, pass::forward);
  pool_program const backward = lowered(batch, libra::zigzag_ring{}, pass::backward);
  REQUIRE(libra::verify(batch, forward));
  REQUIRE(libra::verify(batch, backward));

  auto const finds = [&](pool_program const& base, auto change, std::string const& text) {
    pool_program broken = base;
    change(broken);
    libra::verdict const v = libra::verify(batch, broken);
    CAPTURE(v.what);
    CHECK_FALSE(v.valid);
    CHECK(v.what.find(text) != std::string::npos);
  };
  finds(forward, [](pool_program& p) { p.ranks[1].tiles[0].part = key_part::next; }, "before token");
  finds(
      forward,
      [](pool_program& p) {
        auto& tiles = p.ranks[2].tiles;
        std::ranges::find(tiles, key_part::next, &libra::tile_task::part)->part = key_part::first;
      },
      "at the same time");
  finds(forward, [](pool_program& p) { p.ranks[0].tiles.back().keys.begin += 1; }, "");
  finds(
      forward,
      [](pool_program& p) {
        // The last step's first tile works on a part that an earlier one has seen already.
        auto& tiles = p.ranks[2].tiles;
        tiles.back() = tiles[tiles.size() - 2];
      },
      "");
  finds(
      backward,
      [](pool_program& p) {
        for (libra::program& rank : p.ranks) {
          for (libra::op& o : rank.ops) {
            if (o.kind == libra::op_kind::reduce) o.after = {};
          }
        }
      },
      "");
  finds(backward, [](pool_program& p) { std::swap(p.ranks[0].partials[0], p.ranks[0].partials.back()); }, "");
  finds(forward, [](pool_program& p) { p.ranks[0].reduces[0].last += 1; }, "makes o of segment 0");
  finds(
      forward,
      [](pool_program& p) {
        for (libra::tile_task& t : p.ranks[1].tiles) t.put(tensor::o_part, libra::location::home(0));
      },
      "is at home");
  finds(
      forward,
      [](pool_program& p) {
        // The results of one run of rows are never made of what its keys gave.
        libra::program& rank = p.ranks[1];
        --std::ranges::find(rank.ops, libra::op_kind::reduce, &libra::op::kind)->items.end;
      },
      "before token");
  finds(
      backward,
      [](pool_program& p) {
        // Rounded to the result's own element type after the first part, and added to there.
        libra::program& rank = p.ranks[1];
        for (libra::tile_task& t : rank.tiles) t.put(tensor::dq_part, libra::location::nowhere());
      },
      "is nowhere");
}

TEST_CASE("rows are summed as partial results, wherever their homes are, and rounded once") {
  for (auto const kind : {libra::sharding::zigzag, libra::sharding::contiguous}) {
    pool_batch batch = ring_of_three();
    batch.home.kind = kind;
    batch.number_rows();
    for (pass const p : {pass::forward, pass::backward}) {
      tensor const result = p == pass::forward ? tensor::o : tensor::dq;
      tensor const part = part_of(result);
      pool_program const programs = lowered(batch, libra::zigzag_ring{}, p);
      for (libra::program const& rank : programs.ranks) {
        for (libra::tile_task const& t : rank.tiles) {
          CHECK(t.part != key_part::all);
          CHECK(t.where(part).in_workspace());
          CHECK(t.where(result) == libra::location::nowhere());
        }
        CHECK(std::ranges::none_of(rank.sends, [&](libra::transfer const& t) { return t.what.what == part; }));
        std::int64_t rows = 0;
        for (libra::reduce_task const& t : rank.reduces) {
          if (t.what.what == result) {
            CHECK(t.last - t.first == 1);
            CHECK(t.into.at_home() == (kind == libra::sharding::zigzag));
            rows += t.what.tokens.size();
          }
        }
        CHECK(rows == 8);
      }
    }
  }
}

TEST_CASE("a ring's workspace holds its rows at the width of partial results") {
  pool_batch const batch = ring_of_three();
  auto const tiles = libra::zigzag_ring{}(batch, libra::pair_count{}, libra::topology{});
  auto const bytes = [&](std::int32_t partial) {
    return libra::lower(batch, tiles.of(pass::forward), pass::forward,
                        {.width = {.activation = 2, .statistic = 4, .partial = partial}, .flow = tiles.flow})
        .ranks[0]
        .workspace_bytes;
  };
  // Two runs of 4 rows, two heads of 16.
  CHECK(bytes(8) - bytes(4) == 8 * 2 * 16 * 4);
}

TEST_CASE("a ring's tiles are checked like all others") {
  pool_batch const batch = ring_of_three();
  std::vector<libra::tile> const tiles{{libra::segment_id(0), libra::rank_id(7), 0, 2, 0, 24}};
  CHECK_THROWS_AS(static_cast<void>(libra::lower(batch, tiles, pass::forward, {.flow = libra::key_flow::ring})),
                  libra::input_error);
}

}  // namespace
