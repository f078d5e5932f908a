#include "conformance/cuda_ranks.hpp"
#include "cuda_double/control.hpp"

#include <libra/cuda/peer_group.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace cuda = libra::cuda;

namespace {

using ranks = conformance::fp32_peer_ranks;

std::vector<conformance::home_tensors<float>> results_on(std::array<int, 4> const& devices) {
  cuda_double::reset({.seed = 11, .devices = 3});
  conformance::pool_batch batch = conformance::busy_batch(4);
  batch.shape = {4, 2, 16, {}};
  batch.home = {40, 1};
  batch.segments.front().what.length = 40;
  auto const plan =
      conformance::plan(batch, libra::pooled{}, {.width = conformance::kernel_of<ranks>::width, .waves = 2});
  std::vector<conformance::home_tensors<float>> all(4);
  cuda::peer_group group(devices);
  run_ranks(group, [&](libra::rank_id rank) {
    ranks::backend parts(group, rank);
    CHECK(parts.in().device() == devices[rank.index()]);
    libra::pooled_attention attention(parts, plan);
    ranks::device_call c(parts, plan->batch, rank);
    attention.forward(c.forward());
    attention.backward(c.backward());
    all[rank.index()] = c.results_as_float();
  });
  CHECK(cuda_double::finding() == "");
  return all;
}

TEST_CASE("ranks on several devices compute what ranks on one do, to the bit") {
  CHECK(results_on({0, 1, 2, 1}) == results_on({0, 0, 0, 0}));
  CHECK(cuda_double::objects_alive() == 0);
}

TEST_CASE("devices that cannot reach each other's memory are refused, those that are one are not asked") {
  cuda_double::reset({.seed = 0, .devices = 2, .peer_access = false});
  CHECK_THROWS_WITH_AS(cuda::peer_group(std::array{0, 1}), doctest::Contains("device 0 cannot reach device 1"),
                       cuda::error);
  CHECK(cuda::peer_group(std::array{1, 1}).size() == 2);
}

TEST_CASE("a group has at least one rank") {
  CHECK_THROWS_WITH_AS(cuda::peer_group(0), "peer group has 0 ranks, expected at least 1", libra::input_error);
  CHECK_THROWS_WITH_AS(cuda::peer_group(std::span<int const>{}), "peer group has 0 ranks, expected at least 1",
                       libra::input_error);
}

}  // namespace
