#include <libra/sim/op_time.hpp>

#include <sim/hand_written.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using libra::location;
using libra::op;
using libra::op_kind;
using libra::pass;
using libra::queue;
using libra::segment_id;
using libra::tensor;
using libra::sim::op_context;
using libra::sim::op_time_ps;
using libra::sim::test::hand_written;
using libra::sim::test::plain_machine;

namespace {

struct counting_time {
  std::int64_t operator()(libra::tile_shape const& t, libra::row_range keys, pass p) const {
    return (t.q_end - t.q_begin) * 1000 + keys.size() + (p == pass::forward ? 0 : 7);
  }
  [[nodiscard]] std::int64_t launch_ps(pass) const { return 100'000; }
};

op on_compute(op_kind kind, std::uint32_t items) {
  return {.kind = kind, .on = queue::compute, .round = 0, .after = {}, .items = {0, items}, .receives = {}};
}

std::int64_t time_of(libra::program const& p, op const& o, std::int64_t memory_bytes_per_second,
                     pass direction = pass::backward) {
  hand_written const one(1);
  libra::machine rates = plain_machine();
  rates.memory_bytes_per_second = memory_bytes_per_second;
  counting_time const time;
  return op_time_ps(p, o, op_context<counting_time>{one.batch, direction, {}, rates, time});
}

constexpr std::int64_t byte_a_picosecond = 1'000'000'000'000;

}  // namespace

TEST_CASE("a batch of tiles takes its tiles and one launch") {
  libra::program p;
  p.tiles.resize(2);
  p.tiles[0].rows = {10, 13};
  p.tiles[0].keys = {0, 13};
  p.tiles[1].rows = {0, 1};
  p.tiles[1].keys = {0, 1};
  for (libra::tile_task& t : p.tiles) {
    t.segment = segment_id(0);
    t.head_end = 1;
  }
  CHECK(time_of(p, on_compute(op_kind::attend, 2), 0, pass::forward) == 100'000 + 4000 + 14);
  CHECK(time_of(p, on_compute(op_kind::attend_backward, 2), 0) == 100'000 + 4000 + 14 + 14);
  CHECK(time_of(p, on_compute(op_kind::attend, 0), 0) == 0);
}

TEST_CASE("clearing takes the bytes that it writes, in the type they have there") {
  libra::program p;
  // Heads of 16: 32 bytes a row at home, 64 as partial sums.
  p.clears = {{{tensor::dk, segment_id(0), 0, 1, {0, 10}}, location::home(0)},
              {{tensor::dk, segment_id(0), 0, 1, {0, 10}}, location::workspace(0)}};
  CHECK(time_of(p, on_compute(op_kind::clear, 1), byte_a_picosecond) == 320);
  CHECK(time_of(p, on_compute(op_kind::clear, 2), byte_a_picosecond) == 320 + 640);
  CHECK(time_of(p, on_compute(op_kind::clear, 2), byte_a_picosecond * 3) == 320);
}

TEST_CASE("reducing takes the bytes that it reads and writes") {
  libra::program p;
  p.reduces = {{{tensor::dv, segment_id(0), 0, 1, {0, 10}}, location::home(0), 0, 3}};
  p.partials.resize(3);
  CHECK(time_of(p, on_compute(op_kind::reduce, 1), byte_a_picosecond) == 320 + 3 * 640);
}

TEST_CASE("a machine without a memory bandwidth moves memory for nothing, and row_dot is part of the rates") {
  libra::program p;
  p.clears = {{{tensor::dk, segment_id(0), 0, 1, {0, 10}}, location::home(0)}};
  p.dots = p.clears;
  CHECK(time_of(p, on_compute(op_kind::clear, 1), 0) == 0);
  CHECK(time_of(p, on_compute(op_kind::row_dot, 1), byte_a_picosecond) == 0);
}
