#include <libra/program/round.hpp>

#include <doctest/doctest.h>

namespace {

using libra::location;
using libra::rank_id;
using libra::region;
using libra::segment_id;
using libra::tensor;
using libra::transfer;

TEST_CASE("a move is listed at both of its ends, in the same order") {
  region const first{tensor::k, segment_id(0), 0, 1, {0, 4}};
  region const second{tensor::v, segment_id(0), 0, 1, {0, 4}};
  libra::detail::round moved(2);
  moved.move(first, rank_id(0), location::home(0), rank_id(1), location::workspace(0));
  moved.move(second, rank_id(0), location::home(0), rank_id(1), location::workspace(64));
  libra::program out;
  out.sends.resize(3);
  libra::op exchange;
  moved.close(0, exchange, out);
  CHECK(exchange.items == libra::item_range{3, 5});
  CHECK(exchange.receives == libra::item_range{0, 0});
  CHECK(out.sends[3] == transfer{first, rank_id(1), location::home(0)});
  libra::program other;
  moved.close(1, exchange, other);
  CHECK(exchange.receives == libra::item_range{0, 2});
  CHECK(other.receives[0] == transfer{first, rank_id(0), location::workspace(0)});
  CHECK(other.receives[1] == transfer{second, rank_id(0), location::workspace(64)});
}

TEST_CASE("a copy inside a rank is sent and received by it") {
  region const what{tensor::q, segment_id(0), 0, 1, {0, 4}};
  libra::detail::round moved(1);
  moved.move(what, rank_id(0), location::home(3), rank_id(0), location::workspace(0));
  libra::program out;
  libra::op exchange;
  moved.close(0, exchange, out);
  CHECK(out.sends == std::vector{transfer{what, rank_id(0), location::home(3)}});
  CHECK(out.receives == std::vector{transfer{what, rank_id(0), location::workspace(0)}});
}

}  // namespace
