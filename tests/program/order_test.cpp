#include <libra/core/random.hpp>
#include <libra/program/order.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::op;
using libra::op_kind;
using libra::op_order;
using libra::queue;

op make(queue on, std::array<std::int32_t, libra::queue_count> after = {}) {
  op o;
  o.kind = on == queue::compute ? op_kind::attend : op_kind::exchange;
  o.on = on;
  o.after = after;
  return o;
}

TEST_CASE("by hand: queues run in order, and waits carry over") {
  // fetch 0; attend after it; deliver after that; fetch 1 after nothing.
  std::vector<op> const ops{make(queue::fetch), make(queue::compute, {1, 0, 0}), make(queue::deliver, {0, 1, 0}),
                            make(queue::fetch)};
  op_order const order(ops);
  CHECK(order.before(0, 1));
  CHECK(order.before(1, 2));
  CHECK(order.before(0, 2));
  CHECK(order.before(0, 3));
  CHECK_FALSE(order.before(1, 3));
  CHECK_FALSE(order.before(3, 2));
  CHECK_FALSE(order.before(2, 3));
  CHECK_FALSE(order.before(1, 0));
  CHECK_FALSE(order.before(1, 1));
}

TEST_CASE("agrees with following every wait") {
  libra::random_bits bits(51);
  for (int i = 0; i < 500; ++i) {
    std::vector<op> ops;
    std::array<std::vector<std::size_t>, libra::queue_count> in_queue;
    std::vector<std::vector<bool>> before;  // [b][a]
    for (std::int64_t n = bits.between(1, 14); n > 0; --n) {
      op o = make(static_cast<queue>(bits.below(libra::queue_count)));
      std::vector<bool> done(ops.size() + 1);
      for (std::size_t q = 0; q < libra::queue_count; ++q) {
        bool const own = q == static_cast<std::size_t>(o.on);
        std::size_t const count =
            own ? in_queue[q].size() : static_cast<std::size_t>(bits.below(in_queue[q].size() + 1));
        o.after[q] = own ? static_cast<std::int32_t>(bits.below(2)) * o.after[q] : static_cast<std::int32_t>(count);
        for (std::size_t k = 0; k < count; ++k) {
          std::size_t const a = in_queue[q][k];
          done[a] = true;
          for (std::size_t c = 0; c < a; ++c) {
            done[c] = done[c] || before[a][c];
          }
        }
      }
      in_queue[static_cast<std::size_t>(o.on)].push_back(ops.size());
      ops.push_back(o);
      before.push_back(done);
    }
    op_order const order(ops);
    for (std::size_t a = 0; a < ops.size(); ++a) {
      for (std::size_t b = 0; b < ops.size(); ++b) {
        REQUIRE(order.before(a, b) == (a < b && before[b][a]));
      }
    }
  }
}

}  // namespace
