#include <libra/plan/plan.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

static_assert(std::is_nothrow_move_constructible_v<libra::plan_options>);
static_assert(std::is_nothrow_move_constructible_v<libra::batch_plan> &&
              std::is_nothrow_move_constructible_v<libra::pool_plan>);

TEST_CASE("sequences of an unfilled global batch are dropped") {
  libra::batch_plan plan;
  CHECK(plan.dropped_sequences() == 0);
  for (int s = 0; s < 11; ++s) {
    plan.packing.sequences.close_row();
  }
  plan.placement.at.resize(8);
  CHECK(plan.dropped_sequences() == 3);
}

TEST_CASE("a pool has a program for each pass") {
  libra::pool_plan plan;
  plan.backward.direction = libra::pass::backward;
  CHECK(&plan.of(libra::pass::forward) == &plan.forward);
  CHECK(&plan.of(libra::pass::backward) == &plan.backward);
}

TEST_CASE("defaults: waves by pool, arranged, bf16 activations and fp32 sums, ranks of speed 1, no limit") {
  libra::plan_options const options;
  CHECK(options.waves == 0);
  CHECK(options.arrange);
  CHECK(options.width == libra::element_bytes{2, 4, 4});
  CHECK(options.speeds_permille.empty());
  CHECK(options.max_workspace_bytes == 0);
}

TEST_CASE("a pool's speeds are those of its slots' ranks") {
  libra::batch_plan plan;
  plan.layout = {.window_tokens = 10, .dp = 3, .cp = 2, .pool = 2, .micro_steps = 1};
  plan.pools.begin = {0, 2, 3};
  CHECK(speeds_of_pool(plan, libra::pool_id(1)).empty());
  CHECK(speed_of_pool(plan, libra::pool_id(0)) == 4000);
  plan.options.speeds_permille = {1000, 900, 800, 700, 600, 500};
  CHECK(speeds_of_pool(plan, libra::pool_id(1))[0] == 600);
  CHECK(speed_of_pool(plan, libra::pool_id(0)) == 3400);
  CHECK(speed_of_pool(plan, libra::pool_id(1)) == 1100);
}

}  // namespace
