#include "support/hand_pool.hpp"
#include "support/mutations.hpp"
#include "support/random_cases.hpp"
#include "support/tag_machine.hpp"

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/zigzag_ring.hpp>
#include <libra/program/verifier.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
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
using libra::reduce_task;
using libra::region_task;
using libra::tensor;
using libra::tile_task;
using libra::transfer;
using libra::verdict;

/// The place of the nth op of a kind, and queue, in a rank's list.
std::size_t find_op(program const& p, op_kind kind, queue on, std::size_t nth = 0) {
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    if (p.ops[i].kind == kind && p.ops[i].on == on && nth-- == 0) {
      return i;
    }
  }
  FAIL("the hand-made program has no such op");
  return 0;
}
std::size_t fetch_of(program const& p, std::size_t nth = 0) { return find_op(p, op_kind::exchange, queue::fetch, nth); }
std::size_t deliver_of(program const& p, std::size_t nth = 0) {
  return find_op(p, op_kind::exchange, queue::deliver, nth);
}

/// One fault in a valid program: what was broken must be named with one of `ranks`, `op` (-1: at the end; any: -2), and
/// a text that contains `says`.
constexpr int any_op = -2;
void check_found(pool_program const& broken, std::initializer_list<std::int32_t> ranks, std::int64_t op_index,
                 std::string_view says) {
  verdict const v = libra::verify(libra::test::hand_pool(), broken);
  CAPTURE(v.rank);
  CAPTURE(v.op);
  CAPTURE(v.what);
  CHECK_FALSE(v.valid);
  CHECK(std::ranges::find(ranks, v.rank) != ranks.end());
  CHECK((op_index == any_op || v.op == op_index));
  CHECK(v.what.find(says) != std::string::npos);
}

/// Appends a transfer to an exchange whose slices end where the program's arrays do.
void append_copy(program& p, std::size_t exchange, transfer const& send, transfer const& receive) {
  REQUIRE(p.ops[exchange].items.end == p.sends.size());
  REQUIRE(p.ops[exchange].receives.end == p.receives.size());
  p.sends.push_back(send);
  p.receives.push_back(receive);
  ++p.ops[exchange].items.end;
  ++p.ops[exchange].receives.end;
}

TEST_CASE("the hand-made programs are valid") {
  for (pass const p : {pass::forward, pass::backward}) {
    for (std::int32_t const waves : {1, 2, 3, 4}) {
      pool_program const programs = libra::test::hand_program(p, waves);
      verdict const v = libra::verify(libra::test::hand_pool(), programs);
      CAPTURE(v.rank);
      CAPTURE(v.op);
      CHECK(v.what == "");
      CHECK(v);
      CHECK_NOTHROW(libra::require_valid(libra::test::hand_pool(), programs));
      CHECK(libra::test::tag_machine(libra::test::hand_pool(), programs, 1).run() == "");
    }
  }
}

TEST_CASE("require_valid throws what the verdict says") {
  pool_program broken = libra::test::hand_program(pass::forward);
  broken.ranks[3].workspace_bytes = 0;
  verdict const v = libra::verify(libra::test::hand_pool(), broken);
  CHECK_THROWS_WITH_AS(libra::require_valid(libra::test::hand_pool(), broken),
                       libra::message("program of rank ", v.rank, ", op ", v.op, ": ", v.what).c_str(),
                       libra::run_error);
}

// --- transfers -----------------------------------------------------------------------------------------------------

TEST_CASE("a send that is dropped") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[0];
  std::size_t const fetch = fetch_of(p);
  REQUIRE(p.sends[p.ops[fetch].items.end - 1].peer == rank_id(3));
  --p.ops[fetch].items.end;
  check_found(broken, {0}, static_cast<std::int64_t>(fetch), "rank 0 sends 3 regions to rank 3, which receives 4");
}

TEST_CASE("a receive that is dropped") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[0];
  --p.ops[fetch_of(p)].receives.end;
  check_found(broken, {3}, static_cast<std::int64_t>(fetch_of(broken.ranks[3])),
              "rank 3 sends 3 regions to rank 0, which receives 2");
}

TEST_CASE("two receives of one peer that are swapped") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[0];
  REQUIRE(p.receives[0].peer == p.receives[2].peer);
  std::swap(p.receives[0], p.receives[2]);
  check_found(broken, {2}, static_cast<std::int64_t>(fetch_of(broken.ranks[2])),
              "rank 2 sends q of segment 2 tokens [0, 28) heads [2, 4) to rank 0, which expects k");
}

TEST_CASE("two receives whose places are swapped") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[3];
  auto const place_of = [&](tensor x) -> location& {
    return std::ranges::find_if(p.receives, [&](transfer const& t) { return t.what.what == x; })->at;
  };
  std::swap(place_of(tensor::k), place_of(tensor::v));
  check_found(broken, {3}, static_cast<std::int64_t>(find_op(p, op_kind::attend, queue::compute)),
              "where v of segment 0");
}

TEST_CASE("a receive that is shifted over its neighbour") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[3];
  auto const q = std::ranges::find_if(p.receives, [](transfer const& t) { return t.what.what == tensor::q; });
  q->at = location::workspace(q->at.byte() + 64);
  check_found(broken, {3}, any_op, "q of segment 0 tokens [192, 256)");
}

TEST_CASE("a transfer to a rank outside the pool") {
  for (std::int32_t const peer : {4, -1, 1'000'000}) {
    for (bool const sending : {true, false}) {
      pool_program broken = libra::test::hand_program(pass::forward);
      program& p = broken.ranks[1];
      (sending ? p.sends : p.receives)[0].peer = rank_id(peer);
      check_found(broken, {1}, static_cast<std::int64_t>(fetch_of(p)), "outside the pool of 4 ranks");
    }
  }
}

TEST_CASE("a transfer with the wrong rank of the pool") {
  pool_program broken = libra::test::hand_program(pass::forward);
  broken.ranks[0].sends[0].peer = rank_id(2);
  check_found(broken, {0, 1, 2}, any_op, "regions to rank");
}

TEST_CASE("a round's number that is wrong") {
  pool_program broken = libra::test::hand_program(pass::forward, 2);
  program& p = broken.ranks[2];
  std::size_t const fetch = fetch_of(p, 1);
  p.ops[fetch].round = 2;
  check_found(broken, {2}, static_cast<std::int64_t>(fetch), "is round 2 of queue fetch, expected 1");
}

TEST_CASE("an exchange on the queue of computing") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[2];
  std::size_t const fetch = fetch_of(p);
  p.ops[fetch].on = queue::compute;
  check_found(broken, {2}, static_cast<std::int64_t>(fetch), "exchange is on queue compute");
}

TEST_CASE("a round that another rank does not have") {
  pool_program broken = libra::test::hand_program(pass::forward, 2);
  program& p = broken.ranks[2];
  std::size_t const last = deliver_of(p, 1);
  p.ops.erase(p.ops.begin() + static_cast<std::ptrdiff_t>(last));
  // Rank 2 sends nothing in that round, so only a rank that expects something of it can notice.
  pool_batch const batch = libra::test::hand_pool();
  bool const expected = std::ranges::any_of(broken.ranks, [&](program const& other) {
    return std::ranges::any_of(other.ops, [&](op const& o) {
      auto const from_two = [](transfer const& t) { return t.peer == rank_id(2); };
      return o.on == queue::deliver && o.round == 1 &&
             (std::ranges::any_of(other.sends_of(o), from_two) || std::ranges::any_of(other.receives_of(o), from_two));
    });
  });
  CHECK(libra::verify(batch, broken).valid == !expected);
}

// --- memory --------------------------------------------------------------------------------------------------------

TEST_CASE("a workspace that is smaller than planned") {
  for (std::size_t const r : {0U, 1U, 2U, 3U}) {
    pool_program broken = libra::test::hand_program(pass::backward);
    broken.ranks[r].workspace_bytes -= 64;
    check_found(broken, {static_cast<std::int32_t>(r)}, any_op, "ends beyond the workspace of");
  }
}

TEST_CASE("a tile that works in bytes which another one uses") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[3];
  p.tiles[1].put(tensor::o, p.tiles[0].where(tensor::o));
  check_found(broken, {3}, static_cast<std::int64_t>(find_op(p, op_kind::attend, queue::compute)), "at the same time");
}

TEST_CASE("a write to an input at home") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[2];
  libra::region const q{tensor::q, libra::segment_id(1), 0, 4, {0, 100}};
  append_copy(p, deliver_of(p), {q, rank_id(2), location::home(0)}, {q, rank_id(2), location::home(0)});
  check_found(broken, {2}, static_cast<std::int64_t>(deliver_of(p)), "writes the input q of segment 1");
}

TEST_CASE("a clear of something that is no result") {
  pool_program broken = libra::test::hand_program(pass::backward);
  program& p = broken.ranks[2];
  p.clears[0].what.what = tensor::k;
  check_found(broken, {2}, static_cast<std::int64_t>(find_op(p, op_kind::clear, queue::compute)), "which is not a sum");
}

TEST_CASE("a clear of padding that reaches over the shard, into an input, or over its heads") {
  pool_program const good = libra::test::hand_program(pass::forward);
  program const& of_three = good.ranks[3];
  auto const clear = static_cast<std::int64_t>(find_op(of_three, op_kind::clear, queue::compute));
  REQUIRE(of_three.clears[0].what.segment == libra::no_segment);
  pool_program broken = good;
  broken.ranks[3].clears[0].what.tokens.end += 1;
  check_found(broken, {3}, clear, "outside the shard");
  broken = good;
  broken.ranks[3].clears[0].what.what = tensor::k;
  check_found(broken, {3}, clear, "clears padding of k");
  broken = good;
  broken.ranks[3].clears[0].what.head_end += 1;
  check_found(broken, {3}, clear, "clears padding of o heads [0, 5)");
  broken = good;
  broken.ranks[3].clears[0].what.tokens.begin -= 4;  // rows of segment 2
  broken.ranks[3].clears[0].at = location::home(28);
  check_found(broken, {3, 0, 2}, any_op, "part of which is already written");
}

TEST_CASE("padding that is not cleared") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[3];
  --p.ops[find_op(p, op_kind::clear, queue::compute)].items.end;
  check_found(broken, {3}, -1, "padding of lse head 0 in rows [32, 128) is never cleared");
  pool_program partly = libra::test::hand_program(pass::forward);
  partly.ranks[3].clears[0].what.tokens.end -= 1;
  check_found(partly, {3}, -1, "padding of o head 0 in rows [32, 128) is never cleared");
}

TEST_CASE("a sum that starts from garbage") {
  for (std::size_t const r : {0U, 2U}) {
    pool_program broken = libra::test::hand_program(pass::backward);
    program& p = broken.ranks[r];
    --p.ops[find_op(p, op_kind::clear, queue::compute)].items.end;
    check_found(broken, {static_cast<std::int32_t>(r)}, any_op, "before token 0 is there");
  }
}

// --- waits ---------------------------------------------------------------------------------------------------------

TEST_CASE("computing that does not wait for its inputs") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[3];
  std::size_t const attend = find_op(p, op_kind::attend, queue::compute);
  REQUIRE(p.ops[attend].after[static_cast<std::size_t>(queue::fetch)] == 1);
  p.ops[attend].after = {};
  check_found(broken, {3}, static_cast<std::int64_t>(attend), "may still be writing");
}

TEST_CASE("results that leave before they are computed") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[3];
  std::size_t const deliver = deliver_of(p);
  p.ops[deliver].after = {};
  check_found(broken, {3}, static_cast<std::int64_t>(deliver), "o of segment 0");
}

TEST_CASE("delta that leaves before it is computed") {
  pool_program broken = libra::test::hand_program(pass::backward);
  program& p = broken.ranks[1];
  std::size_t const fetch = fetch_of(p);
  REQUIRE(p.ops[fetch].after[static_cast<std::size_t>(queue::compute)] >= 1);
  p.ops[fetch].after = {};
  check_found(broken, {1}, static_cast<std::int64_t>(fetch), "delta");
}

TEST_CASE("a sum at home before the parts have come") {
  pool_program broken = libra::test::hand_program(pass::backward);
  program& p = broken.ranks[0];
  std::size_t const reduce = find_op(p, op_kind::reduce, queue::combine);
  REQUIRE(p.ops[reduce].after[static_cast<std::size_t>(queue::deliver)] >= 1);
  p.ops[reduce].after = {};
  check_found(broken, {0}, static_cast<std::int64_t>(reduce), "");
}

TEST_CASE("a wait for what comes later") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[0];
  std::size_t const fetch = fetch_of(p);
  p.ops[fetch].after[static_cast<std::size_t>(queue::deliver)] = 1;
  check_found(broken, {0}, static_cast<std::int64_t>(fetch), "waits for 1 ops of queue deliver where 0 come before it");
  p.ops[fetch].after[static_cast<std::size_t>(queue::deliver)] = -1;
  check_found(broken, {0}, static_cast<std::int64_t>(fetch), "waits for -1 ops");
}

TEST_CASE("ranks that wait for each other") {
  // Rank 2 wants its results of rank 0 before it sends what rank 0 computes them from.
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[2];
  op deliver = p.ops[deliver_of(p)];
  p.ops.erase(p.ops.begin() + static_cast<std::ptrdiff_t>(deliver_of(p)));
  // It sends results of its own as well: leave those out, or it could not start for a plainer reason.
  deliver.after = {};
  p.ops.insert(p.ops.begin(), deliver);
  p.ops[fetch_of(p)].after[static_cast<std::size_t>(queue::deliver)] = 1;
  check_found(broken, {0, 1, 2, 3}, any_op, "never finishes: the queues of the pool wait for each other");
}

// --- tiles ---------------------------------------------------------------------------------------------------------

TEST_CASE("a tile that is computed twice") {
  pool_program broken = libra::test::hand_program(pass::forward);
  program& p = broken.ranks[2];
  std::size_t const attend = find_op(p, op_kind::attend, queue::compute);
  REQUIRE(p.ops[attend].items.size() == 2);
  p.tiles[1] = p.tiles[0];
  check_found(broken, {2}, static_cast<std::int64_t>(attend), "already written");
  // The same rows again, on another rank and in other memory.
  pool_program elsewhere = libra::test::hand_program(pass::forward);
  std::vector<libra::tile> tiles = libra::test::hand_tiles();
  tiles.push_back({libra::segment_id(1), rank_id(3), 0, 2, 0, 100});
  check_found(libra::lower(libra::test::hand_pool(), tiles, pass::forward), {2, 3}, any_op, "already written");
}

TEST_CASE("a tile that is left out") {
  for (pass const direction : {pass::forward, pass::backward}) {
    for (std::size_t left_out = 0; left_out < libra::test::hand_tiles().size(); ++left_out) {
      std::vector<libra::tile> tiles = libra::test::hand_tiles();
      tiles.erase(tiles.begin() + static_cast<std::ptrdiff_t>(left_out));
      check_found(libra::lower(libra::test::hand_pool(), tiles, direction), {0, 1, 2, 3, -1}, -1, "is never computed");
    }
  }
}

TEST_CASE("a tile that does not fit its segment, heads or keys") {
  pool_program const good = libra::test::hand_program(pass::forward);
  auto const attend = static_cast<std::int64_t>(find_op(good.ranks[2], op_kind::attend, queue::compute));
  auto const with = [&](auto change, std::string_view says) {
    pool_program broken = good;
    change(broken.ranks[2].tiles[0]);
    check_found(broken, {2}, attend, says);
  };
  with([](tile_task& t) { t.segment = libra::segment_id(3); }, "names segment 3 of 3");
  with([](tile_task& t) { t.segment = libra::segment_id(-1); }, "names segment -1 of 3");
  with([](tile_task& t) { t.rows.end = 101; }, "tile rows [0, 101) of segment 1, which has 100");
  with([](tile_task& t) { t.rows.begin = 100; }, "tile rows [100, 100)");
  with([](tile_task& t) { t.head_end = 3; }, "tile heads [0, 3) are not of one key/value head");
  with([](tile_task& t) { t.head_begin = -1; }, "tile heads [-1, 2)");
  with([](tile_task& t) { t.keys.end = 99; }, "tile keys [0, 99) do not hold [0, 100)");
  with([](tile_task& t) { t.keys.begin = 64; }, "tile keys [64, 100) do not hold [0, 100)");
  with([](tile_task& t) { t.keys.end = 101; }, "tile keys [0, 101)");
  with([](tile_task& t) { t.put(tensor::q, location::nowhere()); }, "is nowhere");
  with([](tile_task& t) { t.put(tensor::v, location::home(1)); }, "is not at home row 1");
}

TEST_CASE("keys that do not begin at a key block") {
  // A window of 64: rows [192, 256) of segment 0 see keys from 129 on; the block begins at 128.
  pool_batch batch = libra::test::hand_pool();
  batch.shape.mask = libra::attention_mask::window(64);
  pool_program good = libra::lower(batch, libra::test::hand_tiles(), pass::forward);
  REQUIRE(libra::verify(batch, good));
  REQUIRE(good.ranks[3].tiles[0].keys == libra::row_range{128, 256});
  good.ranks[3].tiles[0].keys.begin = 129;
  verdict const v = libra::verify(batch, good);
  CHECK(v.rank == 3);
  CHECK(v.what == "tile keys [129, 256) do not hold [129, 256) from a key block on");
}

TEST_CASE("a tile in the wrong pass") {
  pool_program broken = libra::test::hand_program(pass::forward);
  std::size_t const attend = find_op(broken.ranks[0], op_kind::attend, queue::compute);
  broken.ranks[0].ops[attend].kind = op_kind::attend_backward;
  check_found(broken, {0}, static_cast<std::int64_t>(attend), "attend_backward in the other pass");
  pool_program turned = libra::test::hand_program(pass::forward);
  turned.direction = pass::backward;
  check_found(turned, {0, 1, 2, 3}, any_op, "attend in the other pass");
}

// --- results -------------------------------------------------------------------------------------------------------

TEST_CASE("a result that is not delivered") {
  pool_program broken = libra::test::hand_program(pass::forward);
  // The last region that rank 3 sends home to rank 1, at both ends.
  program& from = broken.ranks[3];
  program& to = broken.ranks[1];
  REQUIRE(from.sends.back().what.what == tensor::lse);
  REQUIRE(to.receives.back().what == from.sends.back().what);
  --from.ops[deliver_of(from)].items.end;
  --to.ops[deliver_of(to)].receives.end;
  check_found(broken, {1}, -1, "lse of segment 0");
}

TEST_CASE("a partial sum that is forgotten, or added twice") {
  for (std::size_t const r : {0U, 1U}) {
    pool_program const good = libra::test::hand_program(pass::backward);
    auto const several = [](reduce_task const& t) { return t.last - t.first >= 2; };
    auto const which = std::ranges::find_if(good.ranks[r].reduces, several) - good.ranks[r].reduces.begin();
    REQUIRE(static_cast<std::size_t>(which) < good.ranks[r].reduces.size());
    pool_program broken = good;
    --broken.ranks[r].reduces[static_cast<std::size_t>(which)].last;
    check_found(broken, {static_cast<std::int32_t>(r)}, -1, "misses a tile or counts one twice");
    broken = good;
    reduce_task const& t = broken.ranks[r].reduces[static_cast<std::size_t>(which)];
    broken.ranks[r].partials[t.first + 1] = broken.ranks[r].partials[t.first];
    check_found(broken, {static_cast<std::int32_t>(r)}, any_op, "");
  }
}

TEST_CASE("a sum that is never formed") {
  pool_program broken = libra::test::hand_program(pass::backward);
  program& p = broken.ranks[1];
  --p.ops[find_op(p, op_kind::reduce, queue::combine)].items.end;
  check_found(broken, {1}, -1, "before token");
}

TEST_CASE("a result that is made before its last part is added") {
  // A ring of three: rank 0 collects o over three steps and then rounds it.
  pool_batch batch{
      .shape = {2, 1, 16, {}}, .home = {24, 3, libra::sharding::zigzag}, .slots = 1, .first_rank = 0, .segments = {}};
  batch.segments.push_back({{libra::document_id(0), 0, 24}, libra::sequence_id(0), libra::slot_id(0), 0});
  batch.number_rows();
  auto const tiles = libra::zigzag_ring{}(batch, libra::pair_count{}, libra::topology{});
  pool_program programs = libra::lower(batch, tiles.forward, pass::forward, {.flow = tiles.flow});
  REQUIRE(libra::verify(batch, programs));
  program& p = programs.ranks[0];
  std::size_t const last = find_op(p, op_kind::attend, queue::compute, 2);
  std::size_t const store = find_op(p, op_kind::reduce, queue::compute);
  REQUIRE(last + 1 == store);
  std::swap(p.ops[last], p.ops[store]);
  verdict const v = libra::verify(batch, programs);
  CHECK(v.what == "o of row 20 of segment 0 head 0 misses a part or counts one twice");
  CHECK(v.op == -1);
  CHECK(libra::test::tag_machine(batch, programs, 1).run() != "");
}

// --- form ----------------------------------------------------------------------------------------------------------

TEST_CASE("slices beyond the program's arrays") {
  pool_program const good = libra::test::hand_program(pass::backward);
  for (std::size_t r = 0; r < good.ranks.size(); ++r) {
    for (std::size_t i = 0; i < good.ranks[r].ops.size(); ++i) {
      pool_program broken = good;
      broken.ranks[r].ops[i].items.end = 1000;
      check_found(broken, {static_cast<std::int32_t>(r)}, static_cast<std::int64_t>(i), "1000) of");
      broken = good;
      broken.ranks[r].ops[i].items.begin = broken.ranks[r].ops[i].items.end + 1;
      check_found(broken, {static_cast<std::int32_t>(r)}, static_cast<std::int64_t>(i), ") of");
    }
  }
  pool_program broken = good;
  broken.ranks[0].reduces[0].last = 1000;
  check_found(broken, {0}, any_op, "has partials [0, 1000) of");
}

TEST_CASE("kinds and queues that there are not") {
  pool_program broken = libra::test::hand_program(pass::forward);
  broken.ranks[1].ops[0].kind = static_cast<op_kind>(6);
  check_found(broken, {1}, 0, "is of kind 6");
  broken = libra::test::hand_program(pass::forward);
  broken.ranks[1].ops[0].on = static_cast<queue>(libra::queue_count);
  check_found(broken, {1}, 0, "is on queue 4 of 4");
}

TEST_CASE("a program for another pool, or of elements without bytes") {
  pool_program broken = libra::test::hand_program(pass::forward);
  broken.ranks.pop_back();
  check_found(broken, {-1}, -1, "the pool has 4 ranks, the program 3");
  broken = libra::test::hand_program(pass::forward);
  broken.width.activation = 0;
  check_found(broken, {-1}, -1, "elements of 0, 4 and 4 bytes");
}

// --- at random -----------------------------------------------------------------------------------------------------

TEST_CASE("every change of one field is reported, or the program still computes the right thing") {
  int reported = 0;
  int harmless = 0;
  for (std::uint64_t seed = 0; reported + harmless < 2500; ++seed) {
    libra::test::planning_case const c =
        libra::test::random_case(seed, {.dp = 4, .cp = 4, .micro_steps = 1, .window_tokens = 300, .tokens = 400});
    libra::batch_plan const plan = c.plan();
    libra::pool_plan const pool = c.make_scheduler().plan_pool(plan, libra::micro_step_id(0), libra::pool_id(0));
    if (pool.batch.segments.size() > 40) {
      continue;
    }
    libra::random_bits bits(seed);
    for (int i = 0; i < 20; ++i) {
      pool_program const& good = pool.of(bits.below(3) == 0 ? pass::forward : pass::backward);
      pool_program changed = good;
      std::string const change = libra::test::mutator(changed, bits).mutate();
      if (changed == good) {
        continue;
      }
      verdict const v = libra::verify(pool.batch, changed);
      if (!v) {
        ++reported;
        CHECK_FALSE(v.what.empty());
        continue;
      }
      ++harmless;
      for (std::uint64_t run = 0; run < 4; ++run) {
        INFO(c.describe());
        INFO("seed ", seed, ", change ", i, ": ", change);
        REQUIRE(libra::test::tag_machine(pool.batch, changed, run).run() == "");
      }
    }
  }
  CHECK(reported > 3 * harmless);
}

}  // namespace
