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
              {{tensor::dk_part, segment_id(0), 0, 1, {0, 10}}, location::workspace(0)}};
  CHECK(time_of(p, on_compute(op_kind::clear, 1), byte_a_picosecond) == 320);
  CHECK(time_of(p, on_compute(op_kind::clear, 2), byte_a_picosecond) == 320 + 640);
  CHECK(time_of(p, on_compute(op_kind::clear, 2), byte_a_picosecond * 3) == 320);
}

TEST_CASE("reducing takes the bytes that it reads and writes") {
  libra::program p;
  p.reduces = {{{tensor::dv, segment_id(0), 0, 1, {0, 10}}, location::home(0), 0, 3}};
  p.partials.resize(3);
  CHECK(time_of(p, on_compute(op_kind::reduce, 1), byte_a_picosecond) == 320 + 3 * 640);
  p.reduces[0] = {{tensor::o, segment_id(0), 0, 1, {0, 10}}, location::home(0), 0, 1};
  CHECK(time_of(p, on_compute(op_kind::reduce, 1), byte_a_picosecond) == 320 + 640);
}

TEST_CASE("a machine without a memory bandwidth moves memory for nothing, and row_dot is part of the rates") {
  libra::program p;
  p.clears = {{{tensor::dk, segment_id(0), 0, 1, {0, 10}}, location::home(0)}};
  p.dots = {{p.clears.front().what, p.clears.front().at, p.clears.front().at, p.clears.front().at}};
  CHECK(time_of(p, on_compute(op_kind::clear, 1), 0) == 0);
  CHECK(time_of(p, on_compute(op_kind::row_dot, 1), byte_a_picosecond) == 0);
}

TEST_CASE("adding a part of a result takes its memory traffic once a batch, whatever the number of tiles") {
  libra::program p;
  p.tiles.resize(3);
  for (libra::tile_task& t : p.tiles) {
    t.segment = segment_id(0);
    t.head_end = 1;
    t.rows = {0, 10};
    t.keys = {0, 10};
    t.part = libra::key_part::next;
  }
  std::int64_t const tiles = 3 * (10'000 + 10) + 100'000;
  CHECK(time_of(p, on_compute(op_kind::attend, 3), byte_a_picosecond, pass::forward) == tiles + 10 * 16 * 38);
  CHECK(time_of(p, on_compute(op_kind::attend_backward, 3), byte_a_picosecond) == tiles + 3 * 7 + 10 * 16 * 10);
  // Other rows are another result; rows whose first part is written in the same batch need no reading.
  p.tiles[2].rows = {10, 20};
  p.tiles[0].part = libra::key_part::first;
  CHECK(time_of(p, on_compute(op_kind::attend, 3), byte_a_picosecond, pass::forward) == tiles + 10 * 16 * 38);
}

TEST_CASE("an exchange copies what it moves of single heads at home") {
  libra::attention_shape const shape{.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = {}};
  libra::program p;
  auto const rows = [](std::int32_t heads, location at) {
    return libra::transfer{{tensor::q, segment_id(0), 0, heads, {0, 10}}, libra::rank_id(1), at};
  };
  p.sends = {rows(2, location::home(0)), rows(4, location::home(0)), rows(1, location::workspace(0))};
  p.receives = {rows(1, location::home(3)), rows(2, location::workspace(64))};
  op const o{
      .kind = op_kind::exchange, .on = queue::fetch, .round = 0, .after = {}, .items = {0, 3}, .receives = {0, 2}};
  auto const copies = libra::sim::copy_time_of(p, o, shape, {}, byte_a_picosecond);
  CHECK(copies.before_ps == 2 * 10 * 2 * 32);
  CHECK(copies.after_ps == 2 * 10 * 1 * 32);
  CHECK(libra::sim::copy_time_of(p, o, shape, {}, 0) == libra::sim::copy_time{});
}
