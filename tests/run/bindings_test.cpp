#include <libra/run/bindings.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>

namespace {

using libra::location;
using libra::region;
using libra::tensor;

constexpr libra::attention_shape shape{.q_heads = 6, .kv_heads = 3, .head_dim = 16, .mask = {}};
constexpr libra::element_bytes bf16{2, 4, 4};
constexpr libra::segment_id segment{4};

struct fixture {
  std::array<std::byte, 8192> home{};
  std::array<std::byte, 4096> work{};
  libra::bindings at{shape, bf16, 10};

  fixture() { at.workspace(work.data(), std::ssize(work)); }
};

std::string message_of(auto call) {
  try {
    call();
  } catch (libra::run_error const& e) {
    return e.what();
  }
  return "nothing thrown";
}

TEST_CASE_FIXTURE(fixture, "a home region is strided by all heads of its tensor") {
  at.input(tensor::q, home.data());
  auto const rows = at.read({tensor::q, segment, 2, 4, {100, 103}}, location::home(5));
  CHECK(rows.data == home.data() + (5 * 6 + 2) * 32);
  CHECK(rows.rows == 3);
  CHECK(rows.row_bytes == 2 * 32);
  CHECK(rows.stride_bytes == 6 * 32);
  CHECK_FALSE(rows.dense());
}

TEST_CASE_FIXTURE(fixture, "a home region of all heads is dense") {
  at.input(tensor::k, home.data());
  CHECK(at.read({tensor::k, segment, 0, 3, {0, 7}}, location::home(0)).dense());
}

TEST_CASE_FIXTURE(fixture, "statistics have one float per row and head") {
  at.output(tensor::lse, home.data());
  auto const rows = at.write({tensor::lse, segment, 1, 3, {0, 4}}, location::home(2));
  CHECK(rows.data == home.data() + (2 * 6 + 1) * 4);
  CHECK(rows.row_bytes == 2 * 4);
  CHECK(rows.stride_bytes == 6 * 4);
}

TEST_CASE_FIXTURE(fixture, "a workspace region is a dense block of exactly its heads") {
  auto const rows = at.write({tensor::q, segment, 2, 4, {100, 103}}, location::workspace(128));
  CHECK(rows.data == work.data() + 128);
  CHECK(rows.row_bytes == 2 * 32);
  CHECK(rows.stride_bytes == 2 * 32);
}

TEST_CASE_FIXTURE(fixture, "partial sums are wider than what becomes of them, and have no home") {
  at.output(tensor::dk, home.data());
  CHECK(at.write({tensor::dk, segment, 0, 1, {0, 2}}, location::home(0)).row_bytes == 32);
  CHECK(at.write({tensor::dk, segment, 0, 1, {0, 2}}, location::workspace(0)).row_bytes == 32);
  CHECK(at.write({tensor::dk_part, segment, 0, 1, {0, 2}}, location::workspace(0)).row_bytes == 64);
  CHECK_THROWS_AS((void)at.write({tensor::dk_part, segment, 0, 1, {0, 2}}, location::home(0)), libra::run_error);
}

TEST_CASE_FIXTURE(fixture, "a tile reads its rows and heads, and the keys of its key/value head") {
  libra::tile_task task{.segment = segment, .head_begin = 4, .head_end = 6, .rows = {64, 66}, .keys = {0, 5}};
  task.put(tensor::q, location::home(1));
  task.put(tensor::v, location::home(2));
  task.put(tensor::lse, location::workspace(64));
  at.input(tensor::q, home.data()).input(tensor::v, home.data());
  CHECK(region_of(task, tensor::v, shape) == region{tensor::v, segment, 2, 3, {0, 5}});
  CHECK(at.read(task, tensor::q).data == home.data() + (1 * 6 + 4) * 32);
  CHECK(at.read(task, tensor::q).rows == 2);
  CHECK(at.read(task, tensor::v).data == home.data() + (2 * 3 + 2) * 32);
  CHECK(at.read(task, tensor::v).rows == 5);
  CHECK(at.write(task, tensor::lse).data == work.data() + 64);
  CHECK(at.write(task, tensor::lse).row_bytes == 2 * 4);
}

TEST_CASE_FIXTURE(fixture, "what a program must not do is named") {
  at.input(tensor::q, home.data());
  region const q{tensor::q, segment, 0, 6, {0, 4}};
  CHECK(message_of([&] { (void)at.write(q, location::home(0)); }) == "program writes q, an input of this call");
  CHECK(message_of([&] { (void)at.read(q, location::home(7)); }) ==
        "region q of segment 4, heads [0, 6), tokens [0, 4) ends at local token 11 of 10");
  CHECK(message_of([&] { (void)at.read(q, location::workspace(4000)); }) ==
        "region q of segment 4, heads [0, 6), tokens [0, 4) ends at byte 4768 of a workspace of 4096");
  CHECK(message_of([&] { (void)at.read(q, location::nowhere()); }) ==
        "region q of segment 4, heads [0, 6), tokens [0, 4) is nowhere");
  CHECK(message_of([&] { (void)at.read({tensor::o, segment, 0, 1, {0, 1}}, location::home(0)); }) ==
        "region o of segment 4, heads [0, 1), tokens [0, 1) is at home, where its tensor is not bound");
  CHECK(message_of([&] { (void)at.read({tensor::k, segment, 2, 4, {0, 1}}, location::home(0)); }) ==
        "region k of segment 4, heads [2, 4), tokens [0, 1) is not a part of its tensor");
}

TEST_CASE("the softmax scale is one over the root of head_dim unless told otherwise") {
  CHECK(libra::default_softmax_scale(shape) == 0.25F);
}

}  // namespace
