#include <libra/program/round_list.hpp>

#include <doctest/doctest.h>

#include <vector>

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
  std::vector<libra::program> out(2);
  libra::detail::round_list moved({&out[0], &out[1]});
  moved.move(first, rank_id(0), location::home(0), rank_id(1), location::workspace(0));
  moved.move(second, rank_id(0), location::home(0), rank_id(1), location::workspace(64));
  libra::op exchange;
  moved.close(0, exchange);
  CHECK(exchange.items == libra::item_range{0, 2});
  CHECK(exchange.receives == libra::item_range{0, 0});
  CHECK(out[0].sends ==
        std::vector{transfer{first, rank_id(1), location::home(0)}, transfer{second, rank_id(1), location::home(0)}});
  moved.close(1, exchange);
  CHECK(exchange.items == libra::item_range{0, 0});
  CHECK(exchange.receives == libra::item_range{0, 2});
  CHECK(out[1].receives == std::vector{transfer{first, rank_id(0), location::workspace(0)},
                                       transfer{second, rank_id(0), location::workspace(64)}});
}

TEST_CASE("an op gets what was listed since the op before was closed") {
  region const what{tensor::q, segment_id(0), 0, 1, {0, 4}};
  std::vector<libra::program> out(2);
  libra::detail::round_list moved({&out[0], &out[1]});
  moved.reserve(8);
  CHECK(out[1].receives.capacity() >= 8);
  libra::op first;
  libra::op second;
  libra::op third;
  moved.move(what, rank_id(0), location::home(0), rank_id(1), location::workspace(0));
  moved.close(0, first);
  moved.close(0, second);
  moved.move(what, rank_id(0), location::home(0), rank_id(1), location::workspace(64));
  moved.move(what, rank_id(0), location::home(0), rank_id(1), location::workspace(128));
  moved.close(0, third);
  CHECK(first.items == libra::item_range{0, 1});
  CHECK(second.items == libra::item_range{1, 1});
  CHECK(third.items == libra::item_range{1, 3});
  moved.close(1, third);
  CHECK(third.receives == libra::item_range{0, 3});
}

TEST_CASE("a copy inside a rank is sent and received by it") {
  region const what{tensor::q, segment_id(0), 0, 1, {0, 4}};
  libra::program out;
  libra::detail::round_list moved({&out});
  moved.move(what, rank_id(0), location::home(3), rank_id(0), location::workspace(0));
  libra::op exchange;
  moved.close(0, exchange);
  CHECK(out.sends == std::vector{transfer{what, rank_id(0), location::home(3)}});
  CHECK(out.receives == std::vector{transfer{what, rank_id(0), location::workspace(0)}});
}

}  // namespace
