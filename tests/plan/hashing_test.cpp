#include "support/hand_pool.hpp"
#include "support/printing.hpp"

#include <libra/plan/hashing.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace {

using libra::digest;
using libra::digest_of;
using libra::hasher;

/// The digest of what `add_to` adds for a value.
template <class T>
digest digest_by_add_to(T const& value) {
  hasher h;
  add_to(h, value);
  return h.finish();
}

/// Each change alone must change the digest.
template <class T, class DigestOf>
void check_every(T const& value, DigestOf digest_it, std::vector<std::function<void(T&)>> const& changes) {
  for (std::size_t i = 0; i < changes.size(); ++i) {
    T other = value;
    changes[i](other);
    CAPTURE(i);
    CHECK(digest_it(other) != digest_it(value));
  }
}

TEST_CASE("lengths: number, values and order") {
  std::vector<std::int64_t> const lengths{1, 2};
  // Golden: by an independent program.
  CHECK(to_hex(digest_of(std::span(lengths))) == "246f76ea5a29de52c7935960953219c1");
  std::vector<std::int64_t> const turned{2, 1};
  std::vector<std::int64_t> const longer{1, 2, 0};
  CHECK(digest_of(std::span(turned)) != digest_of(std::span(lengths)));
  CHECK(digest_of(std::span(longer)) != digest_of(std::span(lengths)));
}

TEST_CASE("every field of layout, shape, links and widths") {
  check_every<libra::layout>(libra::layout{}, digest_by_add_to<libra::layout>,
                             {[](auto& l) { ++l.window_tokens; }, [](auto& l) { ++l.dp; }, [](auto& l) { ++l.cp; },
                              [](auto& l) { ++l.pool; }, [](auto& l) { ++l.micro_steps; }});
  check_every<libra::attention_shape>(
      libra::attention_shape{}, digest_by_add_to<libra::attention_shape>,
      {[](auto& s) { ++s.q_heads; }, [](auto& s) { ++s.kv_heads; }, [](auto& s) { ++s.head_dim; },
       [](auto& s) { s.mask.kind = libra::mask_kind::full; }, [](auto& s) { ++s.mask.width_tokens; }});
  check_every<libra::topology>(libra::topology{}, digest_by_add_to<libra::topology>,
                               {[](auto& t) { ++t.ranks_per_node; }, [](auto& t) { ++t.node_bytes_per_second; },
                                [](auto& t) { ++t.network_bytes_per_second; }, [](auto& t) { ++t.node_latency_ps; },
                                [](auto& t) { ++t.network_latency_ps; }});
  check_every<libra::element_bytes>(
      libra::element_bytes{}, digest_by_add_to<libra::element_bytes>,
      {[](auto& w) { ++w.activation; }, [](auto& w) { ++w.statistic; }, [](auto& w) { ++w.partial; }});
}

TEST_CASE("packings: window, segments and where rows end") {
  libra::packing packed;
  packed.window_tokens = 10;
  packed.sequences.push_row(
      std::array{libra::segment{libra::document_id(0), 0, 4}, libra::segment{libra::document_id(1), 0, 4}});
  auto const digest_it = [](libra::packing const& p) { return digest_of(p); };
  check_every<libra::packing>(
      packed, digest_it,
      {[](auto& p) { ++p.window_tokens; }, [](auto& p) { p.sequences[0][0].offset = 1; },
       [](auto& p) { p.sequences[0][0].length = 5; },
       [](auto& p) { p.sequences[0][1].document = libra::document_id(2); }, [](auto& p) { p.sequences.close_row(); }});
  libra::packing apart;
  apart.window_tokens = 10;
  apart.sequences.push_row(packed.sequences[0].first(1));
  apart.sequences.push_row(packed.sequences[0].last(1));
  CHECK(digest_of(apart) != digest_of(packed));
}

TEST_CASE("placements: slots and pools") {
  libra::pool_partition const pools{{0, 1, 2}};
  libra::placement placed{.dp = 2, .micro_steps = 1, .at = {libra::sequence_id(0), libra::sequence_id(1)}};
  auto const digest_it = [&](libra::placement const& p) { return digest_of(p, pools); };
  check_every<libra::placement>(placed, digest_it,
                                {[](auto& p) { ++p.dp; }, [](auto& p) { ++p.micro_steps; },
                                 [](auto& p) { std::swap(p.at[0], p.at[1]); }, [](auto& p) { p.at.pop_back(); }});
  CHECK(digest_of(placed, libra::pool_partition{{0, 2}}) != digest_of(placed, pools));
}

TEST_CASE("batches and tiles, field by field") {
  auto const digest_it = [](libra::pool_batch const& b) { return digest_of(b); };
  check_every<libra::pool_batch>(
      libra::test::hand_pool(), digest_it,
      {[](auto& b) { ++b.shape.head_dim; }, [](auto& b) { ++b.home.window_tokens; }, [](auto& b) { ++b.home.cp; },
       [](auto& b) { ++b.slots; }, [](auto& b) { ++b.first_rank; }, [](auto& b) { ++b.segments[1].position; },
       [](auto& b) { b.segments[1].slot = libra::slot_id(0); },
       [](auto& b) { b.segments[1].sequence = libra::sequence_id(9); }, [](auto& b) { ++b.segments[1].what.offset; },
       [](auto& b) { b.segments.pop_back(); }, [](auto& b) { b.speeds_permille = {1000, 1000, 1000, 999}; }});
  auto const digest_tiles = [](std::vector<libra::tile> const& t) { return digest_of(std::span(t)); };
  check_every<std::vector<libra::tile>>(
      libra::test::hand_tiles(), digest_tiles,
      {[](auto& t) { t[3].segment = libra::segment_id(2); }, [](auto& t) { t[3].rank = libra::rank_id(0); },
       [](auto& t) { ++t[3].head_begin; }, [](auto& t) { ++t[3].head_end; }, [](auto& t) { ++t[3].q_begin; },
       [](auto& t) { ++t[3].q_end; }, [](auto& t) { t.pop_back(); }, [](auto& t) { std::swap(t[0], t[1]); }});
}

TEST_CASE("programs: every array, both passes and the widths") {
  auto const digest_it = [](libra::pool_program const& p) { return digest_of(p); };
  libra::pool_program const programs = libra::test::hand_program(libra::pass::backward);
  check_every<libra::pool_program>(
      programs, digest_it,
      {[](auto& p) { p.direction = libra::pass::forward; }, [](auto& p) { ++p.width.partial; },
       [](auto& p) { p.ranks.pop_back(); }, [](auto& p) { ++p.ranks[3].workspace_bytes; },
       [](auto& p) { p.ranks[3].ops.pop_back(); }, [](auto& p) { p.ranks[3].sends.pop_back(); },
       [](auto& p) { p.ranks[3].receives.pop_back(); }, [](auto& p) { p.ranks[3].tiles.pop_back(); },
       [](auto& p) { p.ranks[3].clears.pop_back(); }, [](auto& p) { p.ranks[3].dots.pop_back(); },
       [](auto& p) { p.ranks[0].reduces.pop_back(); }, [](auto& p) { p.ranks[0].partials.pop_back(); },
       [](auto& p) { std::swap(p.ranks[0], p.ranks[1]); }});
  CHECK(digest_of(libra::test::hand_program(libra::pass::backward)) == digest_of(programs));
}

TEST_CASE("programs, field by field") {
  auto const digest_it = [](libra::pool_program const& p) { return digest_of(p); };
  libra::pool_program programs = libra::test::hand_program(libra::pass::backward);
  programs.ranks[0].kept.push_back({{libra::tensor::q, libra::segment_id(0), 0, 1, {0, 8}}, {}});
  auto const rank = [](libra::pool_program& p) -> libra::program& { return p.ranks[0]; };
  check_every<libra::pool_program>(
      programs, digest_it,
      {[&](auto& p) { rank(p).ops[1].kind = libra::op_kind::reduce; },
       [&](auto& p) { rank(p).ops[1].on = libra::queue::combine; },
       [&](auto& p) { ++rank(p).ops[1].round; },
       [&](auto& p) { ++rank(p).ops[1].after[0]; },
       [&](auto& p) { ++rank(p).ops[1].after[3]; },
       [&](auto& p) { ++rank(p).ops[1].items.end; },
       [&](auto& p) { ++rank(p).ops[1].receives.begin; },
       [&](auto& p) { rank(p).sends[0].what.what = libra::tensor::v; },
       [&](auto& p) { rank(p).sends[0].what.segment = libra::segment_id(7); },
       [&](auto& p) { ++rank(p).sends[0].what.head_end; },
       [&](auto& p) { ++rank(p).sends[0].what.tokens.end; },
       [&](auto& p) { rank(p).sends[0].peer = libra::rank_id(0); },
       [&](auto& p) { rank(p).sends[0].at = libra::location::workspace(4096); },
       [&](auto& p) { ++rank(p).tiles[0].head_begin; },
       [&](auto& p) { ++rank(p).tiles[0].rows.begin; },
       [&](auto& p) { ++rank(p).tiles[0].keys.end; },
       [&](auto& p) { rank(p).tiles[0].put(libra::tensor::q, libra::location::workspace(4096)); },
       [&](auto& p) { rank(p).clears[0].at = libra::location::workspace(4096); },
       [&](auto& p) { rank(p).dots[0].d_o = libra::location::workspace(4096); },
       [&](auto& p) { rank(p).dots[0].o = libra::location::workspace(4096); },
       [&](auto& p) { rank(p).reduces[0].into = libra::location::workspace(4096); },
       [&](auto& p) { ++rank(p).reduces[0].last; },
       [&](auto& p) { rank(p).partials[0] = libra::location::workspace(4096); },
       [&](auto& p) { ++rank(p).kept_bytes; },
       [&](auto& p) { ++rank(p).kept[0].what.tokens.begin; }});
}

TEST_CASE("a tile's parts count where it works on a part of its keys") {
  libra::pool_program programs = libra::test::hand_program(libra::pass::forward);
  libra::tile_task& tile = programs.ranks[0].tiles.front();
  tile.part = libra::key_part::first;
  digest const before = digest_of(programs);
  tile.put(libra::tensor::o_part, libra::location::workspace(64));
  CHECK(digest_of(programs) != before);
}

}  // namespace
