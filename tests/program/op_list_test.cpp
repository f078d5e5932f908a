#include <libra/program/op_list.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

namespace {

using libra::op;
using libra::op_kind;
using libra::queue;
using libra::detail::none;
using libra::detail::op_list;

TEST_CASE("rounds are numbered by queue, other ops are no rounds") {
  op_list list;
  list.push(op_kind::exchange, queue::fetch, {});
  list.push(op_kind::attend, queue::compute, {});
  list.push(op_kind::exchange, queue::deliver, {});
  list.push(op_kind::exchange, queue::fetch, {});
  list.push(op_kind::attend, queue::compute, {});
  std::array<std::int32_t, 5> rounds{};
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    rounds[i] = list.ops[i].round;
  }
  CHECK(rounds == std::array<std::int32_t, 5>{0, 0, 0, 1, 0});
}

TEST_CASE("waits become counts of the other queues; none and the own queue need no entry") {
  op_list list;
  std::size_t const first = list.push(op_kind::exchange, queue::fetch, {});
  std::size_t const second = list.push(op_kind::exchange, queue::fetch, {first});
  std::size_t const attend = list.push(op_kind::attend, queue::compute, {none, first, second});
  std::size_t const deliver = list.push(op_kind::exchange, queue::deliver, {attend, first, none});
  using counts = std::array<std::int32_t, libra::queue_count>;
  CHECK(list.ops[second].after == counts{0, 0, 0});
  CHECK(list.ops[attend].after == counts{2, 0, 0});
  CHECK(list.ops[deliver].after == counts{1, 1, 0});
  CHECK(list.ops[deliver].on == queue::deliver);
  CHECK(list.ops[deliver].kind == op_kind::exchange);
  CHECK(list.ops.size() == 4);
}

}  // namespace
