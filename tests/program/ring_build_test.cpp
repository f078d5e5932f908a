#include "support/printing.hpp"

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/zigzag_ring.hpp>
#include <libra/program/order.hpp>
#include <libra/program/ring_build.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::op_kind;
using libra::op_order;
using libra::pass;
using libra::pool_batch;
using libra::detail::none;
using libra::detail::ring_build;
using libra::detail::ring_rank;

/// One segment of 48 tokens in a group of four.
pool_batch ring_of_four(libra::sharding kind) {
  pool_batch batch{.shape = {4, 1, 16, {}}, .home = {48, 4, kind}, .slots = 1, .first_rank = 0, .segments = {}};
  batch.segments.push_back({{libra::document_id(0), 0, 48}, libra::sequence_id(0), libra::slot_id(0), 0});
  batch.number_rows();
  return batch;
}

ring_build build_of(pool_batch const& batch, pass p) {
  auto const tiles = libra::zigzag_ring{}(batch, libra::pair_count{}, libra::topology{});
  return {batch, libra::detail::form_rings(batch, tiles.of(p)), p, {}};
}

TEST_CASE("every rank has a seat in its ring, and as many steps as the ring has members") {
  pool_batch const batch = ring_of_four(libra::sharding::zigzag);
  ring_build const build = build_of(batch, pass::forward);
  CHECK(build.steps == 4);
  CHECK_FALSE(build.gathers);
  REQUIRE(build.ranks.size() == 4);
  for (std::size_t r = 0; r < 4; ++r) {
    REQUIRE(build.ranks[r].seats.size() == 1);
    CHECK(build.ranks[r].seats[0].member == r);
    CHECK(build.ranks[r].seats[0].steps.size() == 4);
  }
}

TEST_CASE("rows are gathered where homes hold others") {
  pool_batch const batch = ring_of_four(libra::sharding::contiguous);
  CHECK(build_of(batch, pass::forward).gathers);
}

TEST_CASE("forward: two steps' keys are alive at a time, and nothing is delivered that is at home") {
  pool_batch const batch = ring_of_four(libra::sharding::zigzag);
  ring_build build = build_of(batch, pass::forward);
  build.list_ops(1, false, false, false);
  ring_rank const& rank = build.ranks[1];
  op_order const order(rank.list.ops);
  CHECK(rank.fetch[0] == none);
  for (std::size_t j = 0; j + 1 < 4; ++j) {
    CHECK(order.before(rank.fetch[j + 1], rank.attend[j + 1]));
    CHECK_FALSE(order.before(rank.attend[j], rank.fetch[j + 1]));
    CHECK((j == 0 || order.before(rank.attend[j - 1], rank.fetch[j + 1])));
  }
  for (std::size_t const deliver : rank.deliver) {
    CHECK(deliver == none);
  }
}

TEST_CASE("backward: gradients follow the keys one step behind, and are summed before they are passed on") {
  pool_batch const batch = ring_of_four(libra::sharding::zigzag);
  ring_build build = build_of(batch, pass::backward);
  build.list_ops(2, true, true, true);
  ring_rank const& rank = build.ranks[2];
  op_order const order(rank.list.ops);
  CHECK(rank.list.ops[rank.dot].kind == op_kind::row_dot);
  CHECK(rank.list.ops[rank.padding].kind == op_kind::clear);
  CHECK(rank.sum[0] == none);
  for (std::size_t j = 0; j < 4; ++j) {
    CHECK(order.before(rank.clear[j], rank.attend[j]));
    CHECK(order.before(rank.attend[j], rank.deliver[j]));
    if (j > 0) {
      CHECK(order.before(rank.deliver[j - 1], rank.sum[j]));
      CHECK(order.before(rank.attend[j], rank.sum[j]));
      CHECK(order.before(rank.sum[j], rank.deliver[j]));
    }
  }
  CHECK(order.before(rank.deliver[3], rank.home_sum));
}

TEST_CASE("which rows see which keys, under each mask") {
  pool_batch batch = ring_of_four(libra::sharding::zigzag);
  auto const sees = [&](libra::row_range rows, libra::row_range keys) {
    return build_of(batch, pass::forward).sees(rows, keys);
  };
  CHECK(sees({6, 12}, {0, 6}));
  CHECK(sees({6, 12}, {11, 20}));
  CHECK_FALSE(sees({6, 12}, {12, 20}));
  batch.shape.mask = libra::attention_mask::full();
  CHECK(sees({6, 12}, {12, 20}));
  batch.shape.mask = libra::attention_mask::window(3);
  CHECK(sees({6, 12}, {0, 5}));  // row 6 sees keys 4 to 6
  CHECK_FALSE(sees({6, 12}, {0, 4}));
  CHECK_FALSE(sees({6, 12}, {12, 20}));
}

}  // namespace
