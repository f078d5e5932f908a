#include "support/printing.hpp"

#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/model/machine.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/place/longest_first.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/metrics.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>
#include <libra/program/verifier.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using libra::batch_plan;
using libra::int128;
using libra::layout;
using libra::micro_step_id;
using libra::plan_options;
using libra::pool_id;
using libra::pool_plan;
using libra::scheduler;

// A scheduler needs one policy of each seam, in order, and a dispatcher that knows its cost model.
template <class... Policy>
concept can_schedule = requires(Policy... policy) { scheduler(policy...); };
using libra::as_packed;
using libra::fixed_size;
using libra::in_order;
using libra::pair_count;
using libra::ulysses;
static_assert(can_schedule<in_order, fixed_size, as_packed, ulysses, pair_count>);
static_assert(!can_schedule<fixed_size, in_order, as_packed, ulysses, pair_count>);
static_assert(!can_schedule<in_order, as_packed, fixed_size, ulysses, pair_count>);
static_assert(!can_schedule<in_order, fixed_size, ulysses, as_packed, pair_count>);
static_assert(!can_schedule<in_order, fixed_size, as_packed, pair_count, ulysses>);
static_assert(!can_schedule<in_order, fixed_size, as_packed, ulysses>);
static_assert(can_schedule<libra::archetype::pack, libra::archetype::pools, libra::archetype::place,
                           libra::archetype::dispatch, libra::archetype::cost>);
struct for_pairs_only {
  libra::pool_dispatch operator()(libra::pool_batch const&, pair_count const&, libra::topology const&) const {
    return {};
  }
};
static_assert(!can_schedule<in_order, fixed_size, as_packed, for_pairs_only, libra::roofline>);

constexpr scheduler packed_ulysses{in_order{}, fixed_size{}, as_packed{}, ulysses{}, pair_count{}};
constexpr layout two_by_two{.window_tokens = 10, .dp = 2, .cp = 2, .pool = 2, .micro_steps = 1};

TEST_CASE("by hand: packing, weights, placement and certificate of a small list") {
  std::vector<std::int64_t> const lengths{10, 4, 6, 10, 5, 2};
  plan_options const options{.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = {}}};
  batch_plan const plan = packed_ulysses.plan(lengths, two_by_two, options);
  REQUIRE(plan.packing.sequences.size() == 4);
  CHECK(plan.layout == two_by_two);
  CHECK(plan.pools.begin == std::vector<std::int32_t>{0, 2});
  CHECK(plan.placement.global_batches() == 2);
  CHECK(plan.dropped_sequences() == 0);
  // Two forward and five backward units a pair and head: 55, 10 + 21, 55, 15 + 3 pairs.
  std::vector<int128> const pairs{55, 31, 55, 18};
  for (std::size_t s = 0; s < 4; ++s) {
    CHECK(plan.work[s] == libra::wide_work{2 * 4 * pairs[s], 5 * 4 * pairs[s]});
  }
  CHECK(plan.certificate.ulysses_over_mean() == doctest::Approx((55.0 + 55) / ((55 + 31 + 55 + 18) / 2.0)));
  CHECK(plan.certificate.placed_over_mean() == 1.0);
}

TEST_CASE("plan is pack, then place") {
  std::vector<std::int64_t> const lengths{10, 4, 6, 10, 5, 2};
  batch_plan const whole = packed_ulysses.plan(lengths, two_by_two);
  batch_plan const halves = packed_ulysses.place(lengths, packed_ulysses.pack(lengths, two_by_two), two_by_two);
  CHECK(whole.fingerprint == halves.fingerprint);
  CHECK(whole.packing == halves.packing);
  CHECK(whole.placement == halves.placement);
}

TEST_CASE("segments are arranged for their homes, unless that is off") {
  std::vector<std::int64_t> const lengths{3, 5, 2};
  layout const one{.window_tokens = 10, .dp = 1, .cp = 2, .pool = 1, .micro_steps = 1};
  auto const first = [&](plan_options const& options) {
    return packed_ulysses.pack(lengths, one, options).sequences[0][0].document.value;
  };
  CHECK(first({.arrange = false}) == 0);
  CHECK(first({.arrange = true}) == 1);
}

TEST_CASE("a pool's plan: dispatch, valid programs, certificate and fingerprint") {
  std::vector<std::int64_t> const lengths{300, 40, 60, 280, 90, 200, 10};
  layout const l{.window_tokens = 300, .dp = 2, .cp = 2, .pool = 2, .micro_steps = 1};
  plan_options const options{.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = {}}, .waves = 2};
  scheduler const pooled{libra::best_fit_decreasing{}, fixed_size{}, libra::variance_reduced{}, libra::pooled{},
                         pair_count{}};
  batch_plan const plan = pooled.plan(lengths, l, options);
  pool_plan const pool = pooled.plan_pool(plan, micro_step_id(0), pool_id(0));
  CHECK(pool.micro_step == micro_step_id(0));
  CHECK(pool.pool == pool_id(0));
  CHECK(pool.forward.direction == libra::pass::forward);
  CHECK(pool.backward.direction == libra::pass::backward);
  CHECK(libra::verify(pool.batch, pool.forward).what == "");
  CHECK(libra::verify(pool.batch, pool.backward).what == "");
  CHECK(pool.certificate == certify(pool.batch, pool.dispatch, pair_count{}));
  CHECK(pool.fingerprint.batch == digest_of(pool.batch));
  CHECK(pool.fingerprint.tiles_forward == digest_of(std::span<libra::tile const>(pool.dispatch.forward)));
  CHECK(pool.fingerprint.program_backward == digest_of(pool.backward));
  int128 work = 0;
  for (libra::sequence_id const s : plan.placement.step(micro_step_id(0))) {
    work += plan.work[s.index()].forward;
  }
  CHECK(pool.certificate.total.forward == work);
}

TEST_CASE("inputs that are kept: one dispatch for both passes, a valid pair of programs, other fingerprints") {
  std::vector<std::int64_t> const lengths{300, 40, 60, 280, 90, 200, 10};
  layout const l{.window_tokens = 300, .dp = 2, .cp = 2, .pool = 2, .micro_steps = 1};
  plan_options options{.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = {}}, .waves = 2};
  scheduler const pooled{libra::best_fit_decreasing{}, fixed_size{}, libra::variance_reduced{}, libra::pooled{},
                         pair_count{}};
  batch_plan const plain = pooled.plan(lengths, l, options);
  options.keep_inputs = true;
  batch_plan const keeping = pooled.plan(lengths, l, options);
  CHECK(keeping.fingerprint.configuration != plain.fingerprint.configuration);
  CHECK(keeping.placement == plain.placement);
  pool_plan const without = pooled.plan_pool(plain, micro_step_id(0), pool_id(0));
  pool_plan const with = pooled.plan_pool(keeping, micro_step_id(0), pool_id(0));
  CHECK(with.dispatch.backward == without.dispatch.backward);
  CHECK(with.dispatch.forward == with.dispatch.backward);
  CHECK(keeps_inputs(with.forward));
  CHECK_FALSE(keeps_inputs(without.forward));
  CHECK(libra::verify(with.batch, with.forward, with.backward).what == "");
  CHECK(with.fingerprint.program_backward != without.fingerprint.program_backward);
  // What is kept is part of the program's digest.
  libra::pool_program changed = with.forward;
  ++changed.ranks[0].kept_bytes;
  CHECK(digest_of(changed) != digest_of(with.forward));
}

TEST_CASE("shards lie on different nodes where that is expected to take less time, and the caller loads them there") {
  // Four sequences of longer documents and four of short ones, each in a node of its own: most would have to travel.
  std::vector<std::int64_t> lengths(128, 8192);
  lengths.resize(128 + 2048, 512);
  layout const l{.window_tokens = 262144, .dp = 8, .cp = 8, .pool = 8, .micro_steps = 1};
  scheduler const pooled{libra::best_fit_decreasing{}, fixed_size{}, libra::variance_reduced{}, libra::pooled{},
                         libra::roofline(libra::h200_sxm.attention)};
  plan_options options{.shape = {.q_heads = 32, .kv_heads = 4, .head_dim = 128, .mask = {}}};
  auto const planned = [&] { return pooled.plan_pool(pooled.plan(lengths, l, options), micro_step_id(0), pool_id(0)); };
  CHECK(planned().batch.stride == 0);
  options.scatter = true;
  pool_plan const pool = planned();
  CHECK(pool.batch.stride == 1);
  CHECK(pool.batch.held_by(libra::rank_id(8)) == libra::home_shard{libra::slot_id(1), 0});
  CHECK(pool.batch.held_by(libra::rank_id(9)) == libra::home_shard{libra::slot_id(0), 1});
  CHECK(libra::verify(pool.batch, pool.forward).what == "");
  CHECK(libra::verify(pool.batch, pool.backward).what == "");
  CHECK(pool.fingerprint.batch == digest_of(pool.batch));
  // Documents that fill shards, alike everywhere, stay where they are.
  lengths.assign(64, 32768);
  CHECK(planned().batch.stride == 0);
}

/// Expects scattered shards to take no time at all.
struct hopeful {
  template <libra::cost_model Cost>
  libra::pool_dispatch operator()(libra::pool_batch const& batch, Cost const& cost, libra::topology const& t) const {
    libra::pool_dispatch result = libra::pooled{.exported_permille = 0}(batch, cost, t);
    result.expected_ps = batch.stride == 0 ? 100 : 0;
    result.exchange_ps = result.expected_ps;
    return result;
  }
};

TEST_CASE("shards stay together where that is the way to keep within a limit of the workspace") {
  std::vector<std::int64_t> lengths(65, 32);
  lengths.front() = 2048;
  layout const l{.window_tokens = 2048, .dp = 2, .cp = 4, .pool = 2, .micro_steps = 1};
  scheduler const eager{libra::best_fit_decreasing{}, fixed_size{}, as_packed{}, hopeful{}, pair_count{}};
  plan_options options{.shape = {.q_heads = 8, .kv_heads = 2, .head_dim = 64, .mask = {}},
                       .links = {.ranks_per_node = 4}};
  auto const planned = [&] { return eager.plan_pool(eager.plan(lengths, l, options), micro_step_id(0), pool_id(0)); };
  options.scatter = true;
  pool_plan const scattered = planned();
  CHECK(scattered.batch.stride == 1);
  options.max_workspace_bytes = traffic_of(scattered).workspace_bytes;
  CHECK(planned().batch.stride == 1);
  options.max_workspace_bytes = 1;
  try {
    static_cast<void>(planned());
    FAIL("one byte was enough");
  } catch (libra::workspace_error const& e) {
    options.max_workspace_bytes = e.least_bytes();
  }
  pool_plan const least = planned();
  CHECK(least.batch.stride == 0);
  CHECK(traffic_of(least).workspace_bytes == options.max_workspace_bytes);
}

TEST_CASE("a draft of a pool is its plan without certificate and fingerprint") {
  constexpr layout l{.window_tokens = 64, .dp = 4, .cp = 2, .pool = 2, .micro_steps = 1};
  std::vector<std::int64_t> const lengths(40, 9);
  batch_plan const plan = packed_ulysses.plan(lengths, l);
  pool_plan const whole = packed_ulysses.plan_pool(plan, micro_step_id(0), pool_id(1));
  pool_plan const draft = packed_ulysses.draft_pool(plan, micro_step_id(0), pool_id(1));
  CHECK(draft.batch == whole.batch);
  CHECK(draft.dispatch == whole.dispatch);
  CHECK(draft.forward == whole.forward);
  CHECK(draft.backward == whole.backward);
  CHECK(draft.pool == whole.pool);
  CHECK(draft.fingerprint != whole.fingerprint);
}

TEST_CASE("the largest jobs: a million tokens, 64 heads of 128, picoseconds") {
  std::vector<std::int64_t> const lengths(300, 1 << 20);
  layout const l{.window_tokens = 1 << 20, .dp = 64, .cp = 8, .pool = 8, .micro_steps = 4};
  plan_options const options{.shape = {.q_heads = 64, .kv_heads = 8, .head_dim = 128, .mask = {}}};
  scheduler const timed{in_order{}, fixed_size{}, libra::longest_first{}, ulysses{}, libra::roofline{}};
  batch_plan const plan = timed.plan(lengths, l, options);
  CHECK(plan.certificate.placed_over_mean() == 1.0);
  // 2^39 pairs, 64 heads, 512 flop at 623.5 TFLOP/s are 28.89 s.
  CHECK(libra::ratio(plan.work[0].forward, 1'000'000'000'000) == doctest::Approx(28.89).epsilon(0.01));
}

TEST_CASE("what cannot be planned is refused by name and value") {
  std::vector<std::int64_t> const lengths{10, 10};
  auto const refused = [](std::vector<std::int64_t> const& list, layout const& l, plan_options const& options,
                          char const* why) {
    CHECK_THROWS_WITH_AS(static_cast<void>(packed_ulysses.plan(list, l, options)), why, libra::input_error);
  };
  layout l = two_by_two;
  refused({}, l, {}, "the list of lengths is empty, expected at least one document");
  refused({0, 0}, l, {}, "length of document 0 is 0, expected at least 1");
  refused({10, 9}, {.window_tokens = 10, .dp = 3, .cp = 1, .pool = 1, .micro_steps = 2}, {},
          "the list packs into 2 sequences, expected at least dp * micro_steps = 6");
  l.pool = 3;
  refused(lengths, l, {}, "pool is 3, expected at most dp 2");
  refused(lengths, two_by_two, {.shape = {.q_heads = 6, .kv_heads = 4}},
          "kv_heads is 4, expected a divisor of q_heads 6");
  refused(lengths, two_by_two, {.shape = {.head_dim = 100}}, "head_dim is 100, expected 16 to 256 in steps of 8");
  refused(lengths, two_by_two, {.links = {.ranks_per_node = 0}}, "ranks_per_node is 0, expected at least 1");
  batch_plan const plan = packed_ulysses.plan(lengths, two_by_two);
  CHECK_THROWS_WITH_AS(static_cast<void>(packed_ulysses.plan_pool(plan, micro_step_id(1), pool_id(0))),
                       "micro-step is 1, expected 0 to 0", libra::input_error);
}

TEST_CASE("options that cannot be lowered are refused when the list is planned") {
  std::vector<std::int64_t> const lengths{10, 10};
  CHECK_THROWS_WITH_AS(static_cast<void>(packed_ulysses.plan(lengths, two_by_two, {.waves = -1})),
                       "waves is -1, expected at least 0", libra::input_error);
  CHECK_THROWS_AS(static_cast<void>(packed_ulysses.plan(lengths, two_by_two, {.width = {0, 4, 4}})),
                  libra::input_error);
}

TEST_CASE("one document, one rank") {
  std::vector<std::int64_t> const lengths{1};
  layout const l{.window_tokens = 1, .dp = 1, .cp = 1, .pool = 1, .micro_steps = 1};
  batch_plan const plan = packed_ulysses.plan(lengths, l);
  pool_plan const pool = packed_ulysses.plan_pool(plan, micro_step_id(0), pool_id(0));
  CHECK(libra::verify(pool.batch, pool.forward));
  CHECK(libra::verify(pool.batch, pool.backward));
  CHECK(pool.forward.ranks[0].sends.empty());
}

TEST_CASE("speeds: one a rank of the job, part of the configuration unless all are 1") {
  std::vector<std::int64_t> const lengths{10, 10};
  auto const with = [&](std::vector<std::int32_t> speeds) {
    return packed_ulysses.plan(lengths, two_by_two, {.speeds_permille = std::move(speeds)});
  };
  batch_plan const usual = packed_ulysses.plan(lengths, two_by_two);
  CHECK(with({1000, 1000, 1000, 1000}).fingerprint == usual.fingerprint);
  batch_plan const slow = with({1000, 1000, 1000, 500});
  CHECK(first_difference(slow.fingerprint, usual.fingerprint) == "configuration");
  CHECK(with({1000, 1000, 500, 1000}).fingerprint != slow.fingerprint);
  CHECK(slow.placement.at == usual.placement.at);
  // Ulysses cannot adapt: the same tiles take longer.
  pool_plan const timed = packed_ulysses.plan_pool(slow, micro_step_id(0), pool_id(0));
  pool_plan const equal = packed_ulysses.plan_pool(usual, micro_step_id(0), pool_id(0));
  CHECK(timed.dispatch == equal.dispatch);
  CHECK(timed.certificate.makespan.forward == 2 * equal.certificate.makespan.forward);
  CHECK(timed.fingerprint.batch != equal.fingerprint.batch);
  CHECK_THROWS_WITH_AS(static_cast<void>(with({1000, 1000, 1000})), "there are 3 speeds, expected 4, one a rank",
                       libra::input_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(with({1000, 1000, 1000, -1})),
                       "speed of rank 3 is -1 thousandths, expected 1 to 1000000", libra::input_error);
}

TEST_CASE("a limit of the workspace is part of the configuration, and refused by number") {
  std::vector<std::int64_t> const lengths{10, 10};
  auto const with = [&](std::int64_t limit) {
    return packed_ulysses.plan(lengths, two_by_two, {.max_workspace_bytes = limit});
  };
  CHECK(with(0).fingerprint == packed_ulysses.plan(lengths, two_by_two).fingerprint);
  CHECK(first_difference(with(1).fingerprint, with(2).fingerprint) == "configuration");
  CHECK_THROWS_WITH_AS(static_cast<void>(with(-1)), "max_workspace_bytes is -1, expected at least 0",
                       libra::input_error);
  try {
    static_cast<void>(packed_ulysses.plan_pool(with(1), micro_step_id(0), pool_id(0)));
    FAIL("one byte was enough");
  } catch (libra::workspace_error const& e) {
    CHECK(std::string_view(e.what()) == libra::message("max_workspace_bytes is 1, expected at least ", e.least_bytes(),
                                                       " for pool 0 of micro-step 0"));
    pool_plan const least = packed_ulysses.plan_pool(with(e.least_bytes()), micro_step_id(0), pool_id(0));
    CHECK(traffic_of(least).workspace_bytes == e.least_bytes());
  }
}

}  // namespace
