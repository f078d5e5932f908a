#include "support/hand_pool.hpp"

#include <libra/program/region_store.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using libra::location;
using libra::op;
using libra::op_order;
using libra::pass;
using libra::pool_batch;
using libra::pool_program;
using libra::rank_id;
using libra::region;
using libra::segment_id;
using libra::tensor;
using libra::detail::broken;
using libra::detail::region_store;
using libra::detail::whole_rows;

/// A store of the hand-made pool whose accesses are made by op after op of one queue.
struct store_of_hand_pool {
  explicit store_of_hand_pool(pass direction) : programs(small_workspaces(direction)) {}

  static pool_program small_workspaces(pass direction) {
    pool_program four{.direction = direction, .width = {}, .ranks = {}};
    four.ranks.resize(4);
    for (libra::program& p : four.ranks) {
      p.workspace_bytes = 4096;
    }
    return four;
  }

  pool_batch batch = libra::test::hand_pool();
  pool_program programs;
  op_order order = [] {
    std::array<op, 8> ops;
    for (op& o : ops) {
      o.on = libra::queue::compute;
    }
    return op_order(ops);
  }();
  region_store store{batch, programs};
  std::size_t next = 0;

  /// What is wrong with a write, and with a read, by the next op of a rank.
  std::string write(std::int32_t rank, region const& what, location at) {
    return act(rank, [&] { store.write(what, at, whole_rows(what)); });
  }
  std::string read(std::int32_t rank, region const& what, location at) {
    return act(rank, [&] { static_cast<void>(store.read(what, at)); });
  }
  std::string clear(std::int32_t rank, region const& what, location at) {
    return act(rank, [&] { store.clear_padding({what, at}); });
  }
  template <class Action>
  std::string act(std::int32_t rank, Action action) {
    store.enter(rank_id(rank), {next++, &order, 1});
    try {
      action();
    } catch (broken const& b) {
      return b.what;
    }
    return {};
  }
};

region part(tensor x, std::int32_t segment, std::int32_t heads, libra::row_range tokens) {
  return {x, segment_id(segment), 0, heads, tokens};
}

TEST_CASE("inputs are at home from the start, at their own rows only") {
  store_of_hand_pool s(pass::forward);
  CHECK(s.read(0, part(tensor::q, 0, 4, {0, 128}), location::home(0)) == "");
  CHECK(s.read(1, part(tensor::q, 0, 4, {128, 256}), location::home(0)) == "");
  CHECK(s.read(0, part(tensor::q, 0, 4, {0, 129}), location::home(0)).find("is not at home row 0") !=
        std::string::npos);
  CHECK(s.read(1, part(tensor::q, 0, 4, {0, 128}), location::home(0)).find("is not at home row 0") !=
        std::string::npos);
  CHECK(s.read(0, part(tensor::k, 0, 2, {5, 9}), location::home(4)).find("is not at home row 4") != std::string::npos);
  CHECK(s.read(0, part(tensor::k, 0, 2, {5, 9}), location::home(5)) == "");
}

TEST_CASE("which tensors are inputs depends on the pass") {
  CHECK_FALSE(store_of_hand_pool(pass::forward).read(0, part(tensor::lse, 0, 4, {0, 8}), location::home(0)).empty());
  CHECK(store_of_hand_pool(pass::backward).read(0, part(tensor::lse, 0, 4, {0, 8}), location::home(0)) == "");
  CHECK_FALSE(store_of_hand_pool(pass::backward).read(0, part(tensor::delta, 0, 4, {0, 8}), location::home(0)).empty());
  CHECK(store_of_hand_pool(pass::forward).write(0, part(tensor::lse, 0, 4, {0, 8}), location::home(0)) == "");
  CHECK(store_of_hand_pool(pass::backward).write(0, part(tensor::lse, 0, 4, {0, 8}), location::home(0)) ==
        "writes the input lse of segment 0 tokens [0, 8) heads [0, 4)");
}

TEST_CASE("results at home are written once") {
  store_of_hand_pool s(pass::forward);
  CHECK(s.write(0, part(tensor::o, 0, 2, {0, 8}), location::home(0)) == "");
  CHECK(s.write(0, part(tensor::o, 0, 1, {7, 9}), location::home(7)).find("part of which is already written") !=
        std::string::npos);
  CHECK(s.write(0, {tensor::o, segment_id(0), 2, 4, {0, 8}}, location::home(0)) == "");
}

TEST_CASE("a workspace ends where it was planned to end") {
  store_of_hand_pool s(pass::forward);
  // A token of two heads takes 64 bytes.
  CHECK(s.write(3, part(tensor::q, 0, 2, {0, 64}), location::workspace(0)) == "");
  CHECK(s.write(3, part(tensor::q, 0, 2, {0, 64}), location::workspace(32)) ==
        "q of segment 0 tokens [0, 64) heads [0, 2) at byte 32 ends beyond the workspace of 4096");
  CHECK(s.read(3, part(tensor::q, 0, 2, {10, 20}), location::workspace(640)) == "");
  CHECK(s.write(3, part(tensor::q, 0, 2, {0, 1}), location::nowhere()).find("is nowhere") != std::string::npos);
}

TEST_CASE("regions outside their tensor, and segments that there are not") {
  store_of_hand_pool s(pass::forward);
  CHECK(s.read(0, part(tensor::k, 0, 3, {0, 8}), location::home(0)).find("is outside its tensor") != std::string::npos);
  CHECK(s.read(0, part(tensor::q, 0, 4, {8, 8}), location::home(8)).find("is outside its tensor") != std::string::npos);
  CHECK(s.read(2, part(tensor::q, 1, 4, {0, 101}), location::home(0)).find("is outside its tensor") !=
        std::string::npos);
  CHECK(s.read(0, part(tensor::q, 3, 4, {0, 8}), location::home(0)) == "names segment 3 of 3");
}

TEST_CASE("padding of results is cleared, and has to be") {
  store_of_hand_pool s(pass::forward);
  region const padding{tensor::o, libra::no_segment, 0, 4, {32, 128}};
  auto const check = [&] { return s.act(3, [&] { s.store.check_padding(rank_id(3), {32, 128}); }); };
  CHECK(check() == "padding of o head 0 in rows [32, 128) is never cleared");
  CHECK(s.clear(3, padding, location::home(32)) == "");
  CHECK(check() == "padding of lse head 0 in rows [32, 128) is never cleared");
  region statistics = padding;
  statistics.what = tensor::lse;
  CHECK(s.clear(3, statistics, location::home(32)) == "");
  CHECK(check() == "");
  CHECK(s.clear(3, padding, location::home(32)).find("already written") != std::string::npos);
  CHECK(s.clear(3, padding, location::home(31)).find("outside the shard") != std::string::npos);
  region key = padding;
  key.what = tensor::k;
  CHECK(s.clear(3, key, location::home(32)).find("which is no result") != std::string::npos);
}

}  // namespace
