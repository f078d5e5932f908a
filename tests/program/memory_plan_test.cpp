#include <libra/core/random.hpp>
#include <libra/program/memory_plan.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::memory_plan;
using libra::op;
using libra::op_kind;
using libra::op_order;
using libra::queue;

/// A chain of ops on one queue: each is over when the next starts.
op_order chain(std::size_t length) {
  std::vector<op> ops(length);
  for (op& o : ops) {
    o.kind = op_kind::attend;
    o.on = queue::compute;
  }
  return op_order(ops);
}

TEST_CASE("fixed blocks lie where they were put, and the others behind what is reserved for them") {
  memory_plan plan;
  plan.reserve(256);
  std::size_t const kept = plan.fix(64);
  std::size_t const a = plan.add(10, 0, 1);
  std::size_t const b = plan.add(10, 2, 3);
  plan.place(chain(4));
  CHECK(plan.offset(kept) == 64);
  CHECK(plan.offset(a) == 256);
  CHECK(plan.offset(b) == 256);
  CHECK(plan.bytes() == 320);
}

TEST_CASE("what is reserved counts, even without blocks") {
  memory_plan plan;
  plan.reserve(128);
  plan.place(chain(1));
  CHECK(plan.bytes() == 128);
}

TEST_CASE("blocks of one lifetime lie behind each other, aligned") {
  memory_plan plan;
  std::size_t const a = plan.add(100, 0, 1);
  std::size_t const b = plan.add(64, 0, 1);
  std::size_t const c = plan.add(1, 0, 1);
  plan.place(chain(2));
  CHECK(plan.offset(a) == 0);
  CHECK(plan.offset(b) == 128);
  CHECK(plan.offset(c) == 192);
  CHECK(plan.bytes() == 256);
}

TEST_CASE("bytes are used again when their block is over") {
  memory_plan plan;
  std::size_t const a = plan.add(100, 0, 1);
  std::size_t const b = plan.add(100, 2, 3);
  std::size_t const c = plan.add(100, 1, 2);
  plan.place(chain(4));
  CHECK(plan.offset(a) == 0);
  CHECK(plan.offset(b) == 0);
  CHECK(plan.offset(c) == 128);
  CHECK(plan.bytes() == 256);
}

TEST_CASE("a block that ends with an op shares no bytes with one that begins with it") {
  memory_plan plan;
  std::size_t const a = plan.add(64, 0, 1);
  std::size_t const b = plan.add(64, 1, 2);
  plan.place(chain(3));
  CHECK(plan.offset(a) != plan.offset(b));
}

TEST_CASE("ops of different queues are at the same time unless one waits for the other") {
  std::vector<op> ops(2);
  ops[0].kind = op_kind::exchange;
  ops[1].kind = op_kind::attend;
  ops[1].on = queue::compute;
  for (bool const waits : {false, true}) {
    ops[1].after = {waits ? 1 : 0, 0, 0};
    memory_plan plan;
    std::size_t const a = plan.add(64, 0, 0);
    std::size_t const b = plan.add(64, 1, 1);
    plan.place(op_order(ops));
    CHECK((plan.offset(a) == plan.offset(b)) == waits);
  }
}

TEST_CASE("a block may have two last users, on two queues") {
  // An op computes on the block while another sends it; a third waits for one, a fourth for both.
  std::vector<op> ops(4);
  ops[0].kind = op_kind::attend;
  ops[0].on = queue::compute;
  ops[1].on = queue::deliver;
  ops[2].on = queue::fetch;
  ops[2].after = {0, 1, 0};
  ops[3].on = queue::fetch;
  ops[3].after = {0, 1, 1};
  memory_plan plan;
  std::size_t const both = plan.add(64, 0, 0, 1);
  std::size_t const early = plan.add(64, 2, 2);
  std::size_t const late = plan.add(64, 3, 3);
  plan.place(op_order(ops));
  CHECK(plan.offset(early) != plan.offset(both));
  CHECK(plan.offset(late) == plan.offset(both));
}

TEST_CASE("no blocks need no bytes, and empty blocks take none") {
  memory_plan plan;
  plan.place(chain(1));
  CHECK(plan.bytes() == 0);
  static_cast<void>(plan.add(0, 0, 0));
  plan.place(chain(1));
  CHECK(plan.bytes() == 0);
}

TEST_CASE("blocks that may be alive together never share bytes, and all lie in the workspace") {
  libra::random_bits bits(52);
  for (int i = 0; i < 500; ++i) {
    std::vector<op> ops;
    std::array<std::int32_t, libra::queue_count> count{};
    for (std::int64_t n = bits.between(1, 10); n > 0; --n) {
      op& o = ops.emplace_back();
      o.on = static_cast<queue>(bits.below(libra::queue_count));
      o.kind = o.on == queue::compute ? op_kind::attend : op_kind::exchange;
      for (std::size_t q = 0; q < count.size(); ++q) {
        o.after[q] = static_cast<std::int32_t>(bits.between(0, count[q]));
      }
      ++count[static_cast<std::size_t>(o.on)];
    }
    op_order const order(ops);
    struct block {
      std::int64_t bytes;
      std::size_t first;
      std::size_t last;
    };
    std::vector<block> blocks;
    memory_plan plan;
    for (std::int64_t n = bits.between(1, 25); n > 0; --n) {
      auto const first = static_cast<std::size_t>(bits.below(ops.size()));
      auto last = first;
      for (std::size_t later = first + 1; later < ops.size(); ++later) {
        last = order.before(first, later) && bits.below(2) == 0 ? later : last;
      }
      blocks.push_back({bits.between(1, 300), first, last});
      REQUIRE(plan.add(blocks.back().bytes, first, last) == blocks.size() - 1);
    }
    plan.place(order);
    for (std::size_t a = 0; a < blocks.size(); ++a) {
      REQUIRE(plan.offset(a) >= 0);
      REQUIRE(plan.offset(a) % memory_plan::alignment == 0);
      REQUIRE(plan.offset(a) + blocks[a].bytes <= plan.bytes());
      for (std::size_t b = 0; b < a; ++b) {
        bool const apart =
            order.before(blocks[a].last, blocks[b].first) || order.before(blocks[b].last, blocks[a].first);
        bool const disjoint =
            plan.offset(a) + blocks[a].bytes <= plan.offset(b) || plan.offset(b) + blocks[b].bytes <= plan.offset(a);
        REQUIRE((apart || disjoint));
      }
    }
  }
}

}  // namespace
