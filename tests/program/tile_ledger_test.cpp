#include "support/hand_pool.hpp"

#include <libra/program/tile_ledger.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>

namespace {

using libra::segment_id;
using libra::tensor;
using libra::tile_task;
using libra::detail::broken;
using libra::detail::tile_ledger;

tile_task task(std::int32_t segment, std::int32_t head_begin, std::int32_t head_end, libra::row_range rows) {
  tile_task t;
  t.segment = segment_id(segment);
  t.head_begin = head_begin;
  t.head_end = head_end;
  t.rows = rows;
  t.keys = {0, rows.end};
  return t;
}

/// Everything of segments 1 and 2, and of segment 0 as the test says.
tile_ledger all_but_segment_0() {
  tile_ledger ledger;
  for (std::int32_t const head : {0, 2}) {
    static_cast<void>(ledger.record(task(1, head, head + 2, {0, 100}), head / 2, 2, 0));
    static_cast<void>(ledger.record(task(2, head, head + 2, {0, 60}), head / 2, 2, 0));
  }
  return ledger;
}

std::string rows_error(tile_ledger& ledger, std::int32_t& rank, std::int32_t& op) {
  try {
    ledger.check_rows(libra::test::hand_pool(), rank, op);
  } catch (broken const& b) {
    return b.what;
  }
  return {};
}

TEST_CASE("every row of every head, in any order of tiles") {
  tile_ledger ledger = all_but_segment_0();
  std::int32_t rank = -1;
  std::int32_t op = -1;
  static_cast<void>(ledger.record(task(0, 0, 4, {128, 256}), 0, 1, 3));
  CHECK(rows_error(ledger, rank, op) == "row 0 of segment 0 head 0 is never computed");
  CHECK(op == -1);
  static_cast<void>(ledger.record(task(0, 0, 4, {0, 128}), 0, 0, 5));
  CHECK(rows_error(ledger, rank, op) == "");
}

TEST_CASE("who computes a row a second time is named") {
  tile_ledger ledger = all_but_segment_0();
  static_cast<void>(ledger.record(task(0, 0, 4, {0, 256}), 0, 1, 3));
  static_cast<void>(ledger.record(task(0, 3, 4, {200, 201}), 1, 3, 7));
  std::int32_t rank = -1;
  std::int32_t op = -1;
  CHECK(rows_error(ledger, rank, op) == "computes row 200 of segment 0 head 3 a second time");
  CHECK(rank == 3);
  CHECK(op == 7);
}

TEST_CASE("a segment that ends early") {
  tile_ledger ledger = all_but_segment_0();
  static_cast<void>(ledger.record(task(0, 0, 4, {0, 255}), 0, 1, 3));
  std::int32_t rank = -1;
  std::int32_t op = -1;
  CHECK(rows_error(ledger, rank, op) == "row 255 of segment 0 head 0 is never computed");
}

TEST_CASE("a sum holds every tile that worked on its keys, once") {
  tile_ledger ledger;
  std::uint64_t const a = ledger.record(task(0, 0, 2, {0, 128}), 0, 0, 0);
  std::uint64_t const b = ledger.record(task(0, 0, 2, {128, 256}), 0, 1, 0);
  CHECK(a != b);
  auto const sum_error = [&](std::uint64_t signature, libra::row_range keys) -> std::string {
    try {
      ledger.check_sum(segment_id(0), 0, tensor::dk, {keys, signature});
    } catch (broken const& x) {
      return x.what;
    }
    return {};
  };
  CHECK(sum_error(a + b, {0, 128}) == "");
  CHECK(sum_error(b, {128, 256}) == "");
  CHECK(sum_error(a, {0, 128}) == "dk of key 0 of segment 0 kv head 0 misses a tile or counts one twice");
  CHECK(sum_error(a + b + b, {0, 128}).find("misses a tile") != std::string::npos);
  CHECK(sum_error(a + b, {100, 200}) == "dk of key 128 of segment 0 kv head 0 misses a tile or counts one twice");
}

TEST_CASE("a result holds every part of its rows, once; whole rows have none") {
  tile_ledger ledger;
  tile_task first = task(0, 0, 2, {0, 128});
  first.part = libra::key_part::first;
  tile_task next = task(0, 0, 2, {64, 128});
  next.part = libra::key_part::next;
  std::uint64_t const a = ledger.record(first, 0, 0, 0);
  std::uint64_t const b = ledger.record(next, 0, 0, 1);
  static_cast<void>(ledger.record(task(0, 0, 2, {128, 256}), 0, 1, 0));
  auto const result_error = [&](std::uint64_t signature, libra::row_range rows) -> std::string {
    try {
      ledger.check_result(segment_id(0), 1, tensor::o, {rows, signature});
    } catch (broken const& x) {
      return x.what;
    }
    return {};
  };
  CHECK(result_error(a, {0, 64}) == "");
  CHECK(result_error(a + b, {64, 128}) == "");
  CHECK(result_error(0, {128, 256}) == "");
  CHECK(result_error(a, {0, 128}) == "o of row 64 of segment 0 head 1 misses a part or counts one twice");
  CHECK(result_error(a + b + b, {64, 128}).find("of row 64") != std::string::npos);
}

TEST_CASE("parts of a row's keys are disjoint and hold all that it sees") {
  auto const with_parts = [](libra::row_range a, libra::row_range b, libra::key_part second) {
    tile_ledger ledger = all_but_segment_0();
    static_cast<void>(ledger.record(task(0, 1, 4, {0, 256}), 0, 1, 3));
    tile_task first = task(0, 0, 1, {0, 256});
    first.part = libra::key_part::first;
    first.keys = a;
    tile_task next = first;
    next.part = second;
    next.keys = b;
    static_cast<void>(ledger.record(first, 0, 0, 0));
    static_cast<void>(ledger.record(next, 0, 0, 1));
    std::int32_t rank = -1;
    std::int32_t op = -1;
    return rows_error(ledger, rank, op);
  };
  using enum libra::key_part;
  CHECK(with_parts({0, 100}, {100, 256}, next) == "");
  CHECK(with_parts({100, 256}, {0, 100}, next) == "");
  CHECK(with_parts({0, 101}, {100, 256}, next) == "works on key 100 of row 0 of segment 0 head 0 a second time");
  CHECK(with_parts({0, 99}, {100, 256}, next) == "key 99 of row 0 of segment 0 head 0 is never seen");
  CHECK(with_parts({0, 100}, {100, 255}, next) == "rows [0, 256) of segment 0 head 0 do not see all their keys");
  CHECK(with_parts({0, 100}, {100, 256}, first) == "rows [0, 256) of segment 0 head 0 have no single first part");
}

TEST_CASE("no two tiles have the same id") {
  tile_ledger ledger;
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 1000; ++i) {
    CHECK(ids.insert(ledger.record(task(0, 0, 2, {0, 128}), 0, 0, 0)).second);
  }
}

}  // namespace
