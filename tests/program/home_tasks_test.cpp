#include "support/hand_pool.hpp"
#include "support/printing.hpp"

#include <libra/program/home_tasks.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::location;
using libra::pass;
using libra::pool_batch;
using libra::row_range;
using libra::segment_id;
using libra::tensor;
using libra::detail::home_tasks;

TEST_CASE("what a tile reads and writes of its rows, in each pass") {
  CHECK(std::ranges::equal(libra::detail::row_inputs(pass::forward), std::array{tensor::q}));
  CHECK(std::ranges::equal(libra::detail::row_outputs(pass::forward), std::array{tensor::o, tensor::lse}));
  CHECK(std::ranges::equal(libra::detail::row_inputs(pass::backward),
                           std::array{tensor::q, tensor::d_o, tensor::lse, tensor::delta}));
  CHECK(std::ranges::equal(libra::detail::row_outputs(pass::backward), std::array{tensor::dq}));
}

TEST_CASE("of rows that lie elsewhere, backward does not bring what forward kept") {
  CHECK(std::ranges::equal(libra::detail::fetched_rows(pass::forward, true), std::array{tensor::q}));
  CHECK(std::ranges::equal(libra::detail::fetched_rows(pass::backward, true),
                           std::array{tensor::d_o, tensor::lse, tensor::delta}));
  CHECK(std::ranges::equal(libra::detail::fetched_rows(pass::backward, false),
                           libra::detail::row_inputs(pass::backward)));
}

TEST_CASE("a token's home row is counted from its shard") {
  pool_batch const batch = libra::test::hand_pool();
  CHECK(libra::detail::home_location(batch, segment_id(0), 0) == location::home(0));
  CHECK(libra::detail::home_location(batch, segment_id(0), 130) == location::home(2));
  CHECK(libra::detail::home_location(batch, segment_id(2), 27) == location::home(127));
  CHECK(libra::detail::home_location(batch, segment_id(2), 28) == location::home(0));
}

TEST_CASE("delta is computed for every row at home, in the backward pass only") {
  home_tasks const tasks = libra::detail::list_home_tasks(libra::test::hand_pool(), pass::backward);
  REQUIRE(tasks.dots.size() == 4);
  CHECK(tasks.dots[0].size() == 1);
  CHECK(tasks.dots[2].size() == 2);
  CHECK(tasks.dots[2][1].what == libra::region{tensor::delta, segment_id(2), 0, 4, {0, 28}});
  CHECK(tasks.dots[2][1].at == location::home(100));
  home_tasks const forward = libra::detail::list_home_tasks(libra::test::hand_pool(), pass::forward);
  for (auto const& of_rank : forward.dots) {
    CHECK(of_rank.empty());
  }
}

TEST_CASE("padding is what follows the last token of a shard") {
  home_tasks const tasks = libra::detail::list_home_tasks(libra::test::hand_pool(), pass::forward);
  CHECK(tasks.padding == std::vector<row_range>{{128, 128}, {128, 128}, {128, 128}, {32, 128}});
  pool_batch empty = libra::test::hand_pool();
  empty.segments.clear();
  CHECK(libra::detail::list_home_tasks(empty, pass::forward).padding[1] == row_range{0, 128});
}

TEST_CASE("zigzag shards have no padding") {
  pool_batch batch = libra::test::hand_pool();
  batch.home.kind = libra::sharding::zigzag;
  batch.number_rows();
  home_tasks const tasks = libra::detail::list_home_tasks(batch, pass::backward);
  for (row_range const& padding : tasks.padding) {
    CHECK(padding.size() == 0);
  }
}

TEST_CASE("padding is cleared in every result of the pass") {
  auto const cleared = [](pass p, row_range padding) {
    std::vector<libra::region_task> clears;
    libra::detail::clear_padding(libra::test::hand_pool().shape, p, padding, clears);
    std::vector<tensor> tensors;
    for (libra::region_task const& t : clears) {
      CHECK(t.what.segment == libra::no_segment);
      CHECK(t.what.tokens == padding);
      CHECK(t.what.heads() == heads_of(t.what.what, libra::test::hand_pool().shape));
      CHECK(t.at == location::home(padding.begin));
      tensors.push_back(t.what.what);
    }
    return tensors;
  };
  CHECK(cleared(pass::forward, {32, 128}) == std::vector{tensor::o, tensor::lse});
  CHECK(cleared(pass::backward, {32, 128}) == std::vector{tensor::dq, tensor::dk, tensor::dv});
  CHECK(cleared(pass::backward, {128, 128}).empty());
}

}  // namespace
