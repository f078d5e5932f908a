#include "support/hand_pool.hpp"

#include <libra/program/home_results.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using libra::location;
using libra::op;
using libra::op_order;
using libra::pass;
using libra::pool_batch;
using libra::pool_program;
using libra::rank_id;
using libra::segment_id;
using libra::tensor;
using libra::detail::broken;
using libra::detail::region_store;
using libra::detail::tile_ledger;

/// The homes of the hand-made pool, written by the first op of each rank.
struct homes {
  explicit homes(pass p) : direction(p), programs{.direction = p, .width = {}, .ranks = {}} {}

  pass direction;
  pool_batch batch = libra::test::hand_pool();
  pool_program programs;
  op_order order = [] {
    op first;
    first.on = libra::queue::compute;
    return op_order(std::array{first});
  }();
  region_store store = [&] {
    programs.ranks.resize(4);
    return region_store(batch, programs);
  }();
  tile_ledger ledger;
  std::int32_t rank = -1;

  /// Writes tokens of a segment's result at home, or clears padding.
  void write(tensor x, std::int32_t segment, libra::row_range tokens) {
    batch.for_each_home(segment_id(segment), tokens, [&](rank_id home, libra::row_range part, std::int64_t local) {
      libra::region const what{x, segment_id(segment), 0, heads_of(x, batch.shape), part};
      store.enter(home, {0, &order, 1});
      store.write(what, location::home(local), libra::detail::whole_rows(what));
    });
  }
  void clear(tensor x, std::int64_t begin, std::int64_t end) {
    store.enter(rank_id(3), {0, &order, 1});
    store.clear_padding({{x, libra::no_segment, 0, heads_of(x, batch.shape), {begin, end}}, location::home(begin)});
  }
  std::string results() {
    return error_of([&] { libra::detail::check_results(batch, direction, store, ledger, rank); });
  }
  std::string padding() {
    return error_of([&] { libra::detail::check_padding(batch, store, rank); });
  }
  template <class Check>
  std::string error_of(Check check) {
    try {
      check();
    } catch (broken const& b) {
      return b.what;
    }
    return {};
  }
};

TEST_CASE("every row of o and lse has to be at home") {
  homes h(pass::forward);
  for (tensor const x : {tensor::o, tensor::lse}) {
    h.write(x, 0, {0, 256});
    h.write(x, 1, {0, 100});
    h.write(x, 2, {0, 59});
  }
  CHECK(h.results() == "uses o of segment 2 tokens [28, 60) heads [0, 1) before token 59 is there");
  CHECK(h.rank == 3);
  h.write(tensor::o, 2, {59, 60});
  CHECK(h.results() == "uses lse of segment 2 tokens [28, 60) heads [0, 1) before token 59 is there");
  h.write(tensor::lse, 2, {59, 60});
  CHECK(h.results() == "");
}

TEST_CASE("sums have to hold every tile") {
  homes h(pass::backward);
  for (tensor const x : {tensor::dq, tensor::dk, tensor::dv}) {
    for (std::int32_t s = 0; s < 3; ++s) {
      h.write(x, s, {0, h.batch.length(segment_id(s))});
    }
  }
  CHECK(h.results() == "");  // no tile has been computed, so that empty sums are right
  libra::tile_task tile;
  tile.segment = segment_id(1);
  tile.head_end = 2;
  tile.rows = {0, 100};
  tile.keys = {0, 100};
  static_cast<void>(h.ledger.record(tile, 0, 2, 0));
  CHECK(h.results() == "dk of key 0 of segment 1 kv head 0 misses a tile or counts one twice");
  CHECK(h.rank == 2);
}

TEST_CASE("rows that belong to no segment have to be cleared, all of them") {
  homes h(pass::forward);
  CHECK(h.padding() == "padding of o head 0 in rows [32, 128) is never cleared");
  CHECK(h.rank == 3);
  h.clear(tensor::o, 32, 128);
  h.clear(tensor::lse, 32, 100);
  CHECK(h.padding() == "padding of lse head 0 in rows [32, 128) is never cleared");
  h.clear(tensor::lse, 100, 128);
  CHECK(h.padding() == "");
}

TEST_CASE("a gap between segments is padding, too") {
  homes h(pass::forward);
  h.batch.segments.erase(h.batch.segments.begin() + 1);
  h.clear(tensor::o, 32, 128);
  h.clear(tensor::lse, 32, 128);
  CHECK(h.padding() == "padding of o head 0 in rows [0, 100) is never cleared");
  CHECK(h.rank == 2);
}

}  // namespace
