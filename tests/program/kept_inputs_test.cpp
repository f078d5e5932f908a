#include "support/hand_pool.hpp"

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/zigzag_ring.hpp>
#include <libra/program/kept_inputs.hpp>
#include <libra/program/lowering.hpp>
#include <libra/program/verifier.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using libra::location;
using libra::pass;
using libra::pool_batch;
using libra::pool_program;
using libra::program;
using libra::rank_id;
using libra::region_task;
using libra::segment_id;
using libra::tensor;
using libra::transfer;

pool_program kept_program(pass p, std::int32_t waves = 1) {
  return libra::lower(libra::test::hand_pool(), libra::test::hand_tiles(), p,
                      {.width = {}, .waves = waves, .keep_inputs = true});
}

/// Bytes of one row of one head, in bf16 with 16 channels.
constexpr std::int64_t row_bytes = 32;

TEST_CASE("by hand: what each rank keeps") {
  auto const kept = libra::detail::list_kept_inputs(libra::test::hand_pool(), libra::test::hand_tiles(), {});
  REQUIRE(kept.size() == 4);
  // Rank 0 holds the rows and keys of segment 0 that it works on, and nothing of segment 2.
  REQUIRE(kept[0].regions().size() == 3);
  CHECK(kept[0].regions()[0] == region_task{{tensor::q, segment_id(2), 2, 4, {0, 60}}, location::workspace(0)});
  CHECK(kept[0].regions()[1] ==
        region_task{{tensor::k, segment_id(2), 1, 2, {0, 60}}, location::workspace(2 * 60 * row_bytes)});
  CHECK(kept[0].regions()[2].what.what == tensor::v);
  CHECK(kept[0].bytes() == 4 * 60 * row_bytes);
  CHECK(kept[0].offset(tensor::q, segment_id(2), 2, 10) == 10 * 2 * row_bytes);
  CHECK(kept[0].offset(tensor::k, segment_id(2), 1, 10) == (2 * 60 + 10) * row_bytes);
  // Rank 1 has its rows and lacks keys [0, 128) of either head: the panels hold all that the rows see.
  REQUIRE(kept[1].regions().size() == 4);
  CHECK(std::ranges::none_of(kept[1].regions(), [](region_task const& t) { return t.what.what == tensor::q; }));
  CHECK(kept[1].bytes() == 4 * 192 * row_bytes);
  // Rank 2 lacks half of segment 2's rows, and with them their keys.
  CHECK(kept[2].bytes() == (2 + 2) * 60 * row_bytes);
  // Rank 3 lacks everything.
  CHECK(kept[3].bytes() == 2 * 2 * 64 * row_bytes + 4 * 256 * row_bytes);
}

TEST_CASE("what is kept is not set aside a second time") {
  pool_program const programs = kept_program(pass::forward);
  // Rank 0 works on both heads of sixty rows that lie elsewhere: beside what it keeps, there are o and lse.
  std::int64_t const results = 60 * 2 * row_bytes + (60 * 2 * 4 + 63) / 64 * 64;
  CHECK(programs.ranks[0].kept_bytes == 4 * 60 * row_bytes);
  CHECK(programs.ranks[0].workspace_bytes == programs.ranks[0].kept_bytes + results);
}

TEST_CASE("regions are aligned, and found by tensor, segment, head and token") {
  libra::detail::kept_inputs kept;
  kept.add({tensor::v, segment_id(1), 0, 1, {5, 8}}, 10);
  kept.add({tensor::q, segment_id(1), 2, 4, {64, 70}}, 20);
  kept.add({tensor::q, segment_id(1), 2, 4, {0, 64}}, 20);
  kept.finish();
  CHECK(kept.offset(tensor::v, segment_id(1), 0, 7) == 20);
  CHECK(kept.offset(tensor::q, segment_id(1), 2, 64) == 64);
  CHECK(kept.offset(tensor::q, segment_id(1), 2, 63) == 192 + 63 * 20);
  CHECK(kept.bytes() == 192 + 1280);
}

TEST_CASE("forward leaves what backward begins with, whatever the waves of either") {
  pool_batch const batch = libra::test::hand_pool();
  for (std::int32_t forward = 1; forward <= 4; ++forward) {
    for (std::int32_t backward = 1; backward <= 4; ++backward) {
      CAPTURE(forward);
      CAPTURE(backward);
      CHECK(libra::verify(batch, kept_program(pass::forward, forward), kept_program(pass::backward, backward)).what ==
            "");
    }
  }
}

TEST_CASE("backward brings gradients and statistics only, and sends no fewer results") {
  auto const bytes = [](pool_program const& p, tensor x) {
    std::int64_t sum = 0;
    for (program const& rank : p.ranks) {
      for (transfer const& t : rank.receives) {
        sum += t.what.what == x ? t.what.tokens.size() * t.what.heads() : 0;
      }
    }
    return sum;
  };
  pool_program const kept = kept_program(pass::backward);
  pool_program const brought = libra::test::hand_program(pass::backward);
  for (tensor const x : {tensor::q, tensor::k, tensor::v}) {
    CHECK(bytes(kept, x) == 0);
    CHECK(bytes(brought, x) > 0);
  }
  for (tensor const x : {tensor::d_o, tensor::lse, tensor::delta, tensor::dq, tensor::dk, tensor::dv}) {
    CHECK(bytes(kept, x) == bytes(brought, x));
  }
}

TEST_CASE("nothing is kept unless asked for") {
  for (pass const p : {pass::forward, pass::backward}) {
    CHECK_FALSE(keeps_inputs(libra::test::hand_program(p)));
    CHECK(keeps_inputs(kept_program(p)));
  }
}

TEST_CASE("a ring of 16-bit elements keeps its outputs unrounded, and makes delta of them where they were computed") {
  for (libra::sharding const home : {libra::sharding::zigzag, libra::sharding::contiguous}) {
    CAPTURE(static_cast<int>(home));
    pool_batch batch{.shape = {4, 1, 16, {}}, .home = {48, 4, home}, .slots = 1, .first_rank = 0, .segments = {}};
    batch.segments.push_back({{libra::document_id(0), 0, 48}, libra::sequence_id(0), libra::slot_id(0), 0});
    batch.number_rows();
    auto const dispatch = libra::zigzag_ring{}(batch, libra::pair_count{}, libra::topology{});
    auto const lowered = [&](pass p, libra::element_bytes const& width) {
      return libra::lower(batch, dispatch.of(p), p, {.width = width, .flow = dispatch.flow, .keep_inputs = true});
    };
    pool_program forward = lowered(pass::forward, {});
    pool_program const backward = lowered(pass::backward, {});
    CHECK(libra::verify(batch, forward, backward).what == "");
    std::int64_t rows = 0;
    for (program const& rank : backward.ranks) {
      for (libra::dot_task const& dot : rank.dots) {
        CHECK(dot.output() == tensor::o_part);
        CHECK(dot.d_o.at_home() == (home == libra::sharding::zigzag));
        rows += dot.what.tokens.size() * dot.what.heads();
      }
      for (transfer const& t : rank.receives) {
        CHECK(t.what.what != tensor::delta);
      }
      CHECK(std::ranges::count(rank.kept, tensor::o_part, [](region_task const& t) { return t.what.what; }) > 0);
    }
    CHECK(rows == 48 * 4);
    // What forward does not leave, backward cannot begin with.
    std::erase_if(forward.ranks[1].kept, [](region_task const& t) { return t.what.what == tensor::o_part; });
    CHECK(libra::verify(batch, forward, backward).what.find("which differ from the") != std::string::npos);
    pool_program without = backward;
    without.ranks[1].kept = forward.ranks[1].kept;
    CHECK(libra::verify(batch, without).what.find("o_part") != std::string::npos);

    for (program const& rank : lowered(pass::backward, {.activation = 4, .statistic = 4, .partial = 4}).ranks) {
      CHECK(std::ranges::all_of(rank.dots, [](libra::dot_task const& t) { return t.output() == tensor::o; }));
      CHECK(std::ranges::none_of(rank.kept, [](region_task const& t) { return t.what.what == tensor::o_part; }));
    }
  }
}

TEST_CASE("the verifier finds what breaks keeping") {
  pool_batch const batch = libra::test::hand_pool();
  auto const says = [&](pool_program const& p) { return libra::verify(batch, p).what; };

  SUBCASE("forward does not leave it") {
    pool_program p = kept_program(pass::forward);
    p.ranks[3].kept.push_back(p.ranks[3].kept.front());
    p.ranks[3].kept.back().at = location::workspace(64);
    CHECK(says(p).find("where q of segment 0") != std::string::npos);
  }
  SUBCASE("backward begins without it") {
    pool_program p = kept_program(pass::backward);
    p.ranks[3].kept.clear();
    CHECK(says(p).find("is there") != std::string::npos);
  }
  SUBCASE("something else is kept") {
    pool_program p = kept_program(pass::forward);
    p.ranks[3].kept.front().what.what = tensor::o;
    CHECK(says(p).find("neither an input nor an unrounded output") != std::string::npos);
  }
  SUBCASE("it lies at home") {
    pool_program p = kept_program(pass::forward);
    p.ranks[3].kept.front().at = location::home(0);
    CHECK(says(p).find("outside the workspace") != std::string::npos);
  }
  SUBCASE("it lies beyond the bytes that stay") {
    pool_program p = kept_program(pass::forward);
    p.ranks[3].kept_bytes -= 64;
    CHECK(says(p).find("ends beyond") != std::string::npos);
  }
  SUBCASE("backward writes over it") {
    pool_program p = kept_program(pass::backward);
    // What arrives last goes where the first rows of q lie.
    for (transfer& t : p.ranks[3].receives) {
      if (t.what.what == tensor::d_o) {
        t.at = location::workspace(0);
      }
    }
    CHECK(says(p) != "");
  }
  SUBCASE("the passes do not keep the same") {
    pool_program const forward = kept_program(pass::forward);
    pool_program backward = kept_program(pass::backward);
    std::swap(backward.ranks[3].kept.front(), backward.ranks[3].kept.back());
    CHECK(libra::verify(batch, forward, backward).what ==
          "backward begins with 6 kept regions, which differ from the 6 that forward leaves");
    CHECK(libra::verify(batch, forward, backward).rank == 3);
    CHECK_THROWS_AS(libra::require_valid(batch, forward, backward), libra::run_error);
  }
}

}  // namespace
