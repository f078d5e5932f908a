#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

// Golden values: fingerprints of whole plans, the same on every compiler, flag set and platform. This file is also
// compiled with -march=native -ffp-contract=fast.
//
// They change whenever a policy decides differently, lowering emits other ops or the hash changes. A failed check
// prints the value it got; put it in its place when the change is meant, and say in CHANGELOG.md that plans differ.
// When only one compiler or flag set fails, the plan depends on it: that is a bug, not a golden value to regenerate.

namespace {

/// 60 documents of 1 to 3000 tokens, most of them short, by arithmetic that needs no library.
std::vector<std::int64_t> documents() {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < 60; ++i) {
    std::int64_t const x = i * i * 7919 % 3001;
    lengths.push_back(i % 7 == 0 ? x + 1 : x / 12 + 1);
  }
  return lengths;
}

/// Neither the window nor the slots divide by anything; three global batches of two micro-steps, and a rest.
constexpr libra::layout unfriendly{.window_tokens = 1001, .dp = 3, .cp = 3, .pool = 2, .micro_steps = 2};

libra::plan_options options(libra::attention_mask mask) {
  return {.shape = {.q_heads = 28, .kv_heads = 4, .head_dim = 128, .mask = mask}, .waves = 2};
}

/// The fingerprint of the batch, and of all its pools' plans together.
template <class Scheduler>
std::string fingerprints(Scheduler const& planner, libra::plan_options const& with) {
  libra::batch_plan const plan = planner.plan(documents(), unfriendly, with);
  libra::hasher pools;
  for (std::int32_t m = 0; m < plan.placement.steps(); ++m) {
    for (std::int32_t g = 0; g < plan.pools.size(); ++g) {
      pools.add(planner.plan_pool(plan, libra::micro_step_id(m), libra::pool_id(g)).fingerprint.combined());
    }
  }
  return to_hex(plan.fingerprint.combined()) + ' ' + to_hex(pools.finish());
}

TEST_CASE("the list itself") {
  std::vector<std::int64_t> const lengths = documents();
  CHECK(to_hex(libra::digest_of(std::span(lengths))) == "03c1d5bdd14aa6fd8ef38f78efa42f83");
}

TEST_CASE("counting pairs") {
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 libra::pooled{}, libra::pair_count{}};
  CHECK(fingerprints(planner, options(libra::attention_mask::causal())) ==
        "2bfd49bc4f106b8a9055d05b1e6c8475 49b0bbfb2b03b4f3847924d20f2b2ec8");
}

TEST_CASE("picoseconds") {
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 libra::pooled{}, libra::roofline{}};
  CHECK(fingerprints(planner, options(libra::attention_mask::causal())) ==
        "12c18d297377560bfffcf12f2f076156 3af81993f442a8fdf7ed1d0b522863db");
  CHECK(fingerprints(planner, options(libra::attention_mask::window(300))) ==
        "bdaf792cc7c7a3ea1afbd19451d08550 e2b5eedcc9d8d2eab91ab7f7ff906ba9");
}

TEST_CASE("the baseline") {
  libra::scheduler const planner{libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, libra::ulysses{},
                                 libra::roofline{}};
  CHECK(fingerprints(planner, options(libra::attention_mask::full())) ==
        "cb6555afa98c7a735a72db89e8c95dda 43f3815272138e35f7041ed1a09a3b7d");
}

}  // namespace
