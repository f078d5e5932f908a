#include <libra/program/order.hpp>
#include <libra/program/skeleton.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::op_kind;
using libra::op_order;
using libra::queue;
using libra::detail::none;
using libra::detail::skeleton;

std::vector<op_kind> kinds(skeleton const& s) {
  std::vector<op_kind> all;
  for (libra::op const& o : s.ops) {
    all.push_back(o.kind);
  }
  return all;
}

TEST_CASE("no waves and nothing to do: no ops") {
  skeleton const s({.waves = 0, .attends = {false}}, op_kind::attend);
  CHECK(s.ops.empty());
  CHECK(s.attend[0] == none);
}

TEST_CASE("local tiles alone need no exchange") {
  skeleton const s({.waves = 0, .attends = {true}}, op_kind::attend);
  CHECK(kinds(s) == std::vector{op_kind::attend});
  CHECK(s.ops[0].after == std::array<std::int32_t, libra::queue_count>{});
}

TEST_CASE("one wave: local tiles run while inputs travel") {
  skeleton const s({.waves = 1, .attends = {true, true}}, op_kind::attend);
  CHECK(kinds(s) == std::vector{op_kind::exchange, op_kind::attend, op_kind::attend, op_kind::exchange});
  op_order const order(s.ops);
  CHECK_FALSE(order.before(s.fetch[1], s.attend[0]));
  CHECK(order.before(s.fetch[1], s.attend[1]));
  CHECK(order.before(s.attend[1], s.deliver[1]));
}

TEST_CASE("a rank without tiles takes part in every round") {
  skeleton const s({.waves = 3, .attends = {false, false, false, false}}, op_kind::attend);
  CHECK(s.ops.size() == 6);
  for (std::size_t w = 1; w <= 3; ++w) {
    CHECK(s.ops[s.fetch[w]].round == static_cast<std::int32_t>(w) - 1);
    CHECK(s.ops[s.deliver[w]].round == static_cast<std::int32_t>(w) - 1);
    CHECK(s.ops[s.fetch[w]].on == queue::fetch);
    CHECK(s.ops[s.deliver[w]].on == queue::deliver);
  }
}

TEST_CASE("backward: delta before anything leaves, sums cleared before and added up at the end") {
  skeleton const s({.dots = true, .clears = true, .reduces = true, .waves = 2, .attends = {true, true, false}},
                   op_kind::attend_backward);
  op_order const order(s.ops);
  CHECK(order.before(s.dot, s.fetch[1]));
  CHECK(order.before(s.clear, s.attend[0]));
  // The last round takes partial sums home: it waits for all computing, and what it brings for the reduce.
  CHECK(order.before(s.attend[1], s.deliver[2]));
  CHECK(order.before(s.clear, s.deliver[2]));
  CHECK(order.before(s.deliver[2], s.reduce));
  CHECK(s.attend[2] == none);
}

TEST_CASE("at most two waves are alive at a time, whatever the speeds") {
  for (std::int32_t waves = 3; waves <= 8; ++waves) {
    std::vector<bool> const attends(static_cast<std::size_t>(waves) + 1, true);
    skeleton const s({.waves = waves, .attends = attends}, op_kind::attend);
    op_order const order(s.ops);
    for (std::size_t w = 1; w + 2 <= static_cast<std::size_t>(waves); ++w) {
      CHECK(order.before(s.attend[w], s.fetch[w + 2]));
      CHECK(order.before(s.deliver[w], s.attend[w + 2]));
      CHECK_FALSE(order.before(s.attend[w], s.fetch[w + 1]));
    }
  }
}

TEST_CASE("every op waits for earlier ones of the list only") {
  for (std::int32_t waves = 0; waves <= 5; ++waves) {
    for (std::uint32_t bits = 0; bits < (8U << (waves + 1)); ++bits) {
      std::vector<bool> attends;
      for (std::int32_t w = 0; w <= waves; ++w) {
        attends.push_back((bits >> (w + 3) & 1U) != 0);
      }
      skeleton const s({.dots = (bits & 1U) != 0,
                        .clears = (bits & 2U) != 0,
                        .reduces = (bits & 4U) != 0,
                        .waves = waves,
                        .attends = attends},
                       op_kind::attend_backward);
      std::array<std::int32_t, libra::queue_count> count{};
      for (libra::op const& o : s.ops) {
        for (std::size_t q = 0; q < count.size(); ++q) {
          REQUIRE(o.after[q] <= count[q]);
        }
        ++count[static_cast<std::size_t>(o.on)];
      }
    }
  }
}

}  // namespace
