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
using libra::detail::fetch_rounds;
using libra::detail::none;
using libra::detail::skeleton;

/// A rank with tiles in `attends`, inputs from the network in each wave, and every round in use.
skeleton::needs plain(std::int32_t waves, std::vector<bool> attends) {
  auto const all = static_cast<std::size_t>(libra::detail::wave_numbers{waves}.count());
  attends.resize(all);
  std::vector<std::int32_t> after(all, -1);
  for (std::int32_t w = 1; w <= waves; ++w) {
    after[static_cast<std::size_t>(w)] = libra::detail::network_round(w);
  }
  return {.waves = waves,
          .rounds = std::vector<bool>(static_cast<std::size_t>(fetch_rounds(waves)), true),
          .attends = attends,
          .clears_before = std::vector<bool>(all),
          .after = after,
          .sums = std::vector<bool>(all)};
}

std::size_t fetch_of(skeleton const& s, std::int32_t round) { return s.fetch[static_cast<std::size_t>(round)]; }

TEST_CASE("no waves and nothing to do: no ops") {
  skeleton const s(plain(0, {}), op_kind::attend);
  CHECK(s.ops.empty());
  CHECK(s.attend[0] == none);
  CHECK(s.last_deliver() == none);
}

TEST_CASE("local tiles alone need no exchange") {
  skeleton const s(plain(0, {true}), op_kind::attend);
  REQUIRE(s.ops.size() == 1);
  CHECK(s.ops[0].kind == op_kind::attend);
  CHECK(s.ops[0].after == std::array<std::int32_t, libra::queue_count>{});
}

TEST_CASE("local tiles run while inputs travel, and others while results return") {
  skeleton const s(plain(1, {true, true, true}), op_kind::attend);
  op_order const order(s.ops);
  CHECK_FALSE(order.before(fetch_of(s, 1), s.attend[0]));
  CHECK(order.before(fetch_of(s, 1), s.attend[1]));
  CHECK(order.before(s.attend[1], s.deliver[1]));
  CHECK_FALSE(order.before(s.deliver[1], s.attend[2]));
}

TEST_CASE("a rank that needs only its node does not wait for the network") {
  skeleton::needs n = plain(1, {false, true});
  n.after[1] = libra::detail::near_round(1);
  skeleton const s(n, op_kind::attend);
  op_order const order(s.ops);
  CHECK(order.before(fetch_of(s, 0), s.attend[1]));
  CHECK_FALSE(order.before(fetch_of(s, 1), s.attend[1]));
}

TEST_CASE("rounds that bring nothing to anyone are left out, and the others numbered through") {
  skeleton::needs n = plain(2, {false, true, true});
  n.rounds = {false, true, false, true, false};
  skeleton const s(n, op_kind::attend);
  CHECK(fetch_of(s, 0) == none);
  CHECK(s.ops[fetch_of(s, 1)].round == 0);
  CHECK(s.ops[fetch_of(s, 3)].round == 1);
  CHECK(s.fetch_from(2) == fetch_of(s, 3));
}

TEST_CASE("a rank without tiles takes part in every round") {
  skeleton const s(plain(3, {}), op_kind::attend);
  CHECK(s.ops.size() == static_cast<std::size_t>(fetch_rounds(3)) + 3);
  for (std::int32_t r = 0; r < fetch_rounds(3); ++r) {
    CHECK(s.ops[fetch_of(s, r)].round == r);
    CHECK(s.ops[fetch_of(s, r)].on == queue::fetch);
  }
  for (std::size_t w = 1; w <= 3; ++w) {
    CHECK(s.ops[s.deliver[w]].round == static_cast<std::int32_t>(w) - 1);
    CHECK(s.ops[s.deliver[w]].on == queue::deliver);
  }
}

TEST_CASE("backward: delta before anything leaves, sums cleared before and added up at the end") {
  skeleton::needs n = plain(2, {true, true});
  n.dots = n.clears = n.reduces = true;
  skeleton const s(n, op_kind::attend_backward);
  op_order const order(s.ops);
  CHECK(order.before(s.dot, fetch_of(s, 0)));
  CHECK(order.before(s.clear, s.attend[0]));
  CHECK(order.before(s.attend[1], s.deliver[1]));
  CHECK(order.before(s.deliver[2], s.reduce));
  CHECK(s.attend[2] == none);
}

TEST_CASE("sums are taken after their parts came, before the next round, and no tile waits for them") {
  skeleton::needs n = plain(2, {false, true, true, true, true});
  n.clears = n.reduces = true;
  n.late = 2;
  n.sums[1] = n.sums[2] = n.sums[3] = true;
  skeleton const s(n, op_kind::attend_backward);
  op_order const order(s.ops);
  for (std::size_t const round : {1U, 2U, 3U}) {
    CHECK(s.ops[s.sum[round]].on == queue::combine);
    CHECK(order.before(s.deliver[round], s.sum[round]));
    CHECK(order.before(s.sum[round], s.deliver[round + 1]));
    for (std::size_t wave = 1; wave <= 4; ++wave) {
      CHECK_FALSE(order.before(s.sum[round], s.attend[wave]));
    }
  }
  CHECK_FALSE(order.before(s.deliver[3], s.attend[4]));
  CHECK(s.last_deliver() == s.deliver[4]);
  CHECK(order.before(s.deliver[4], s.reduce));
}

TEST_CASE("what is cleared before a wave waits for what may have lain there") {
  skeleton::needs n = plain(8, std::vector<bool>(9, true));
  n.alive = 4;
  n.clears_before[6] = true;
  skeleton const s(n, op_kind::attend_backward);
  op_order const order(s.ops);
  CHECK(s.clear == none);
  CHECK(s.clear_before[5] == none);
  CHECK(s.ops[s.clear_before[6]].kind == op_kind::clear);
  CHECK(order.before(s.attend[5], s.clear_before[6]));
  CHECK(order.before(s.clear_before[6], s.attend[6]));
  CHECK(order.before(s.deliver[2], s.clear_before[6]));
  CHECK_FALSE(order.before(s.deliver[3], s.clear_before[6]));
}

TEST_CASE("what a home adds up waits for its own tiles too, whatever is on its way") {
  skeleton::needs n = plain(1, {true, false, false, true});
  n.clears = n.reduces = true;
  skeleton const s(n, op_kind::attend_backward);
  op_order const order(s.ops);
  CHECK(order.before(s.attend[3], s.reduce));
  CHECK_FALSE(order.before(s.attend[0], s.deliver[1]));
}

TEST_CASE("only so many waves are alive at a time, whatever the speeds") {
  for (std::int32_t alive = 4; alive <= 6; ++alive) {
    for (std::int32_t waves = 3; waves <= 10; ++waves) {
      skeleton::needs n = plain(waves, std::vector<bool>(static_cast<std::size_t>(waves) + 1, true));
      n.alive = alive;
      skeleton const s(n, op_kind::attend);
      op_order const order(s.ops);
      for (std::int32_t w = 1; w + alive <= waves; ++w) {
        auto const wave = static_cast<std::size_t>(w);
        auto const later = static_cast<std::size_t>(w + alive);
        CHECK(order.before(s.attend[wave], fetch_of(s, libra::detail::near_round(w + alive))));
        CHECK(order.before(s.deliver[wave], s.attend[later]));
        CHECK_FALSE(order.before(s.attend[wave], fetch_of(s, libra::detail::near_round(w + alive - 1))));
      }
    }
  }
}

TEST_CASE("every op waits for earlier ones of the list only") {
  for (std::int32_t waves = 0; waves <= 4; ++waves) {
    for (std::uint32_t bits = 0; bits < (16U << (waves + 1)); ++bits) {
      std::vector<bool> attends;
      for (std::int32_t w = 0; w <= waves; ++w) {
        attends.push_back((bits >> (w + 4) & 1U) != 0);
      }
      skeleton::needs n = plain(waves, attends);
      n.dots = (bits & 1U) != 0;
      n.clears = (bits & 2U) != 0;
      n.reduces = (bits & 4U) != 0;
      n.late = (bits & 8U) != 0 && waves > 0 ? 1 + static_cast<std::int32_t>(bits & 1U) : 0;
      skeleton const s(n, op_kind::attend_backward);
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
