#include "support/hand_pool.hpp"

#include <libra/program/op_form.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace {

using libra::op;
using libra::op_kind;
using libra::program;
using libra::queue;
using libra::detail::broken;

std::string form_error(program const& p, op const& o) {
  try {
    libra::detail::check_form(p, o, 4);
  } catch (broken const& b) {
    return b.what;
  }
  return {};
}

TEST_CASE("every op of a lowered pool is well formed") {
  for (libra::pass const direction : {libra::pass::forward, libra::pass::backward}) {
    for (program const& p : libra::test::hand_program(direction, 2).ranks) {
      for (op const& o : p.ops) {
        CHECK(form_error(p, o) == "");
      }
    }
  }
}

TEST_CASE("each kind's slices lie in the arrays of that kind") {
  program p;
  p.sends.resize(1);
  p.receives.resize(2);
  p.tiles.resize(3);
  p.dots.resize(4);
  p.clears.resize(5);
  p.reduces.resize(6);
  auto const with = [&](op_kind kind, std::uint32_t begin, std::uint32_t end) {
    op o;
    o.kind = kind;
    o.items = {begin, end};
    return form_error(p, o);
  };
  CHECK(with(op_kind::exchange, 0, 1) == "");
  CHECK(with(op_kind::exchange, 0, 2) == "has sends [0, 2) of 1");
  CHECK(with(op_kind::attend, 0, 3) == "");
  CHECK(with(op_kind::attend, 1, 4) == "has tiles [1, 4) of 3");
  CHECK(with(op_kind::attend_backward, 2, 1) == "has tiles [2, 1) of 3");
  CHECK(with(op_kind::row_dot, 0, 4) == "");
  CHECK(with(op_kind::row_dot, 0, 5) == "has dots [0, 5) of 4");
  CHECK(with(op_kind::clear, 5, 5) == "");
  CHECK(with(op_kind::clear, 6, 6) == "has clears [6, 6) of 5");
  CHECK(with(op_kind::reduce, 0, 6) == "");
  CHECK(with(op_kind::reduce, 0, 7) == "has reduces [0, 7) of 6");
  op o;
  o.receives = {0, 3};
  CHECK(form_error(p, o) == "has receives [0, 3) of 2");
  p.reduces[2].last = 1;
  CHECK(with(op_kind::reduce, 0, 6) == "has partials [0, 1) of 0");
}

TEST_CASE("peers are ranks of the pool") {
  program p;
  p.sends.resize(1);
  op o;
  o.items = {0, 1};
  for (std::int32_t const peer : {0, 3}) {
    p.sends[0].peer = libra::rank_id(peer);
    CHECK(form_error(p, o) == "");
  }
  for (std::int32_t const peer : {-1, 4}) {
    p.sends[0].peer = libra::rank_id(peer);
    CHECK(form_error(p, o).find("outside the pool of 4 ranks") != std::string::npos);
  }
}

TEST_CASE("kinds and queues that there are not") {
  op o;
  o.kind = static_cast<op_kind>(6);
  CHECK(form_error({}, o) == "is of kind 6, which there is not");
  o.kind = op_kind::attend;
  o.on = static_cast<queue>(libra::queue_count);
  CHECK(form_error({}, o) == "is on queue 4 of 4");
}

}  // namespace
