#include <libra/plan/plan_cache.hpp>

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace {

using libra::micro_step_id;
using libra::pool_id;

constexpr libra::scheduler planner{libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, libra::pooled{},
                                   libra::pair_count{}};
constexpr libra::layout layout{.window_tokens = 100, .dp = 2, .cp = 1, .pool = 1, .micro_steps = 2};
std::vector<std::int64_t> const lengths{100, 50, 50, 30, 70, 20, 80};
libra::plan_options const full_layers{
    .shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = libra::attention_mask::causal()}};
libra::plan_options const windowed_layers{
    .shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = libra::attention_mask::window(8)}};

TEST_CASE("what was planned once is the same object afterwards, and what the scheduler plans") {
  libra::plan_cache cache(planner);
  auto const batch = planner.plan(lengths, layout, full_layers);
  auto const first = cache.plan_pool(batch, micro_step_id(1), pool_id(0));
  for (int layer = 0; layer < 5; ++layer) {
    CHECK(cache.plan_pool(batch, micro_step_id(1), pool_id(0)) == first);
  }
  CHECK(cache.hits() == 5);
  CHECK(cache.misses() == 1);
  CHECK(first->fingerprint == planner.plan_pool(batch, micro_step_id(1), pool_id(0)).fingerprint);
  // A batch that was planned again from the same inputs is the same batch.
  CHECK(cache.plan_pool(planner.plan(lengths, layout, full_layers), micro_step_id(1), pool_id(0)) == first);
}

TEST_CASE("other segments, places, shapes and options have plans of their own") {
  libra::plan_cache cache(planner);
  auto const batch = planner.plan(lengths, layout, full_layers);
  auto const first = cache.plan_pool(batch, micro_step_id(0), pool_id(0));
  CHECK(cache.plan_pool(batch, micro_step_id(0), pool_id(1)) != first);
  CHECK(cache.plan_pool(batch, micro_step_id(1), pool_id(0)) != first);
  auto const windowed = cache.plan_pool(planner.plan(lengths, layout, windowed_layers), micro_step_id(0), pool_id(0));
  CHECK(windowed->batch.shape.mask == libra::attention_mask::window(8));
  auto waves = full_layers;
  waves.waves = 3;
  CHECK(cache.plan_pool(planner.plan(lengths, layout, waves), micro_step_id(0), pool_id(0)) != first);
  auto halves = full_layers;
  halves.width.activation = 4;
  CHECK(cache.plan_pool(planner.plan(lengths, layout, halves), micro_step_id(0), pool_id(0)) != first);
  CHECK(cache.hits() == 0);
  CHECK(cache.misses() == 6);
}

TEST_CASE("the least recently used plan is forgotten; whoever holds it keeps it") {
  libra::plan_cache cache(planner, 2);
  auto const batch = planner.plan(lengths, layout, full_layers);
  auto const get = [&](int m, int g) { return cache.plan_pool(batch, micro_step_id(m), pool_id(g)); };
  std::weak_ptr<libra::pool_plan const> const a = get(0, 0);
  auto const b = get(0, 1);
  static_cast<void>(get(0, 0));
  std::weak_ptr<libra::pool_plan const> const c = get(1, 0);  // forgets b
  CHECK(!a.expired());
  CHECK(get(0, 1) != b);  // planned anew; forgets a
  CHECK(a.expired());
  CHECK(!c.expired());
  CHECK(b->batch.segments.size() == 2);
}

TEST_CASE("errors are the scheduler's and leave nothing behind") {
  libra::plan_cache cache(planner);
  auto const batch = planner.plan(lengths, layout, full_layers);
  CHECK_THROWS_AS((void)cache.plan_pool(batch, micro_step_id(9), pool_id(0)), libra::input_error);
  CHECK(cache.misses() == 0);
  CHECK_THROWS_WITH_AS(libra::plan_cache(planner, 0), "capacity of the plan cache is 0, expected at least 1",
                       libra::input_error);
}

}  // namespace
