#include <libra/program/tracked_memory.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using libra::op;
using libra::op_kind;
using libra::op_order;
using libra::queue;
using libra::region;
using libra::segment_id;
using libra::tensor;
using libra::detail::broken;
using libra::detail::signed_rows;
using libra::detail::tracked_memory;

/// Two ops that nothing orders, and a third after both.
struct three_ops {
  op_order order = [] {
    std::array<op, 3> ops;
    ops[0].on = queue::fetch;
    ops[1].on = queue::compute;
    ops[1].kind = op_kind::attend;
    ops[2].on = queue::deliver;
    ops[2].after = {1, 1, 0};
    return op_order(ops);
  }();
  tracked_memory memory;

  tracked_memory::access by(std::size_t i) { return {i, &order, i}; }
  void write(std::size_t i, std::int64_t at, region const& what) {
    memory.write(by(i), at, 4, what, std::array{signed_rows{what.tokens, 0}});
  }
  std::vector<signed_rows> read(std::size_t i, std::int64_t at, region const& what) {
    return memory.read(by(i), at, 4, what);
  }
};

region keys(std::int64_t begin, std::int64_t end) { return {tensor::k, segment_id(0), 0, 1, {begin, end}}; }

template <class Action>
std::string what_is_broken(Action action) {
  try {
    action();
  } catch (broken const& b) {
    return b.what;
  }
  return {};
}

TEST_CASE("what was written can be read, in parts and in pieces put together") {
  three_ops m;
  m.write(0, 0, keys(0, 10));
  m.write(0, 40, keys(10, 20));
  CHECK(m.read(2, 0, keys(0, 20)).size() == 2);
  CHECK(m.read(2, 12, keys(3, 7)).size() == 1);
  CHECK(m.read(2, 20, keys(5, 15)).size() >= 2);
}

TEST_CASE("nothing is read that is not there, or is something else") {
  three_ops m;
  m.write(0, 0, keys(0, 10));
  CHECK(what_is_broken([&] { m.read(2, 0, keys(0, 11)); }) ==
        "uses k of segment 0 tokens [0, 11) heads [0, 1) before token 10 is there");
  CHECK(what_is_broken([&] { m.read(2, 100, keys(0, 10)); }) ==
        "uses k of segment 0 tokens [0, 10) heads [0, 1) before token 0 is there");
  CHECK(what_is_broken([&] { m.read(2, 4, keys(0, 9)); }).find("where k of segment 0") != std::string::npos);
  region values = keys(0, 10);
  values.what = tensor::v;
  CHECK(what_is_broken([&] { m.read(2, 0, values); }).find("where k of segment 0") != std::string::npos);
  region other = keys(0, 10);
  other.segment = segment_id(1);
  CHECK_FALSE(what_is_broken([&] { m.read(2, 0, other); }).empty());
  CHECK_FALSE(what_is_broken([&] { m.memory.read(m.by(2), 0, 8, keys(0, 5)); }).empty());
}

TEST_CASE("ops that nothing orders must not touch the same bytes") {
  three_ops m;
  m.write(0, 0, keys(0, 10));
  CHECK(what_is_broken([&] { m.read(1, 0, keys(0, 10)); }).find("op 0 may still be writing") != std::string::npos);
  CHECK(what_is_broken([&] { m.write(1, 36, keys(0, 10)); }).find("at the same time") != std::string::npos);
  CHECK(what_is_broken([&] { m.write(1, 40, keys(0, 10)); }).empty());
  CHECK(what_is_broken([&] { m.write(2, 0, keys(0, 10)); }).empty());
}

TEST_CASE("nothing is overwritten that may still be read") {
  std::array<op, 3> ops;
  ops[0].on = queue::fetch;
  ops[1].on = queue::compute;
  ops[1].after = {1, 0, 0};
  ops[2].on = queue::deliver;
  ops[2].after = {1, 0, 0};
  op_order const order(ops);
  tracked_memory memory;
  std::array const rows{signed_rows{{0, 10}, 0}};
  memory.write({0, &order, 0}, 0, 4, keys(0, 10), rows);
  static_cast<void>(memory.read({1, &order, 1}, 0, 4, keys(0, 10)));
  CHECK(what_is_broken([&] { memory.write({2, &order, 2}, 0, 4, keys(0, 10), rows); }).find("op 1 may still read") !=
        std::string::npos);
}

TEST_CASE("what is overwritten in part is gone in part") {
  three_ops m;
  m.write(0, 0, keys(0, 10));
  m.write(2, 12, keys(50, 52));
  CHECK(m.read(2, 0, keys(0, 3)).size() == 1);
  CHECK(m.read(2, 20, keys(5, 10)).size() == 1);
  CHECK_FALSE(what_is_broken([&] { m.read(2, 0, keys(0, 4)); }).empty());
}

TEST_CASE("whether addresses hold something") {
  three_ops m;
  m.write(0, 0, keys(0, 10));
  CHECK(m.memory.holds_all(0, 40));
  CHECK_FALSE(m.memory.holds_all(0, 41));
  CHECK(m.memory.holds_any(39, 60));
  CHECK_FALSE(m.memory.holds_any(40, 60));
  m.write(0, 80, keys(20, 30));
  CHECK_FALSE(m.memory.holds_all(0, 120));
  CHECK(m.memory.holds_all(80, 120));
}

TEST_CASE("sums remember who added to which part") {
  std::array<op, 3> ops;
  for (op& o : ops) {
    o.on = queue::compute;
  }
  op_order const order(ops);
  tracked_memory memory;
  memory.write({0, &order, 1}, 0, 4, keys(0, 10), std::array{signed_rows{{0, 10}, 0}});
  memory.accumulate({1, &order, 1}, 0, 4, keys(0, 6), 5);
  memory.accumulate({1, &order, 1}, 16, 4, keys(4, 10), 7);
  std::vector<std::uint64_t> signatures;
  for (signed_rows const& part : memory.read({2, &order, 1}, 0, 4, keys(0, 10))) {
    signatures.push_back(part.signature);
  }
  CHECK(signatures == std::vector<std::uint64_t>{5, 12, 7});
}

TEST_CASE("a region is described by what it is") {
  CHECK(libra::detail::describe({tensor::dq, segment_id(3), 1, 4, {5, 9}}) ==
        "dq of segment 3 tokens [5, 9) heads [1, 4)");
}

}  // namespace
