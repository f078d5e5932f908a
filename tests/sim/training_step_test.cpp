#include <libra/sim/training_step.hpp>

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using libra::synchronisation;
using libra::sim::bound_of;
using libra::sim::layer_time;
using libra::sim::step_bound;
using libra::sim::step_options;
using libra::sim::step_timing;
using libra::sim::training_step;

namespace {

/// Two pools of one slot of two ranks, two micro-steps of windows of 1,000 tokens; as many global batches as asked.
libra::batch_plan small_plan(std::int32_t batches = 1) {
  libra::scheduler const planner(libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, libra::ulysses{},
                                 libra::pair_count{});
  std::vector<std::int64_t> const lengths(static_cast<std::size_t>(4 * batches), 1000);
  return planner.plan(lengths, {.window_tokens = 1000, .dp = 2, .cp = 2, .pool = 1, .micro_steps = 2});
}

/// Nothing of this depends on the machine but the linear rate: a parameter and token take 2 ps forward.
libra::machine plain() {
  libra::machine m = libra::h200_sxm;
  m.linear_flop_per_second = 1'000'000'000'000;
  return m;
}

layer_time layer(std::int64_t forward_ps, std::int64_t backward_ps, std::int64_t busy_ps) {
  return {.attention = {forward_ps, backward_ps},
          .busy_ps = {busy_ps, busy_ps + forward_ps},
          .max_bytes = forward_ps,
          .ranks_per_exchange = 2};
}

// Micro-step 0: pools of 10+30 and 20+20; micro-step 1: 40+60 and 10+10.
std::vector<layer_time> const uneven{layer(10, 30, 35), layer(20, 20, 38), layer(40, 60, 90), layer(10, 10, 5)};

// 500 tokens a rank, 2 flop forward and 4 backward a parameter, 10 parameters: 10 + 20 ns a micro-step.
step_options const plain_step{.layers = 10, .active_parameters = 10};
constexpr double ps = 1e-12;

doctest::Approx seconds(double picoseconds) { return doctest::Approx(picoseconds * ps).epsilon(1e-12); }

}  // namespace

TEST_CASE("with layer synchronisation every pass of every micro-step takes its slowest pool") {
  step_timing const t = training_step(small_plan(), uneven, plain(), plain_step);
  CHECK(t.attention_seconds == seconds(10 * (20 + 30 + 40 + 60)));
  CHECK(t.linear_seconds == seconds(2 * 30'000));
  CHECK(t.step_seconds == seconds(60'000 + 1500));
  CHECK(t.bubble_seconds == seconds(0));
  CHECK(t.exposed_exchange_seconds == seconds(10 * (50 - 38 + 100 - 90)));
  CHECK(t.worst_step_attention_seconds == seconds(10 * 100));
  CHECK(t.max_tokens_per_rank == 500);
  CHECK(t.max_bytes_per_rank == 40);
  CHECK(t.max_ranks_per_exchange == 2);
  CHECK(t.tokens_per_second_per_rank == doctest::Approx(4000.0 / 4 / (61'500 * ps)));
}

TEST_CASE("with batch synchronisation the slowest pool's sum counts") {
  step_options options = plain_step;
  options.sync = synchronisation::batch;
  step_timing const t = training_step(small_plan(), uneven, plain(), options);
  CHECK(t.attention_seconds == seconds(10 * (10 + 30 + 40 + 60)));
  CHECK(t.step_seconds == seconds(60'000 + 1400));
  CHECK(t.exposed_exchange_seconds == seconds(10 * (40 - 35 + 100 - 90)));
  CHECK(t.worst_step_attention_seconds == seconds(10 * 100));
}

TEST_CASE("full recompute runs forward twice, linear and attention") {
  step_options options = plain_step;
  options.recompute = true;
  step_timing const t = training_step(small_plan(), uneven, plain(), options);
  // Micro-step 0: forward 20, backward the slower of 10 + 30 and 20 + 20; micro-step 1: 40 and 100.
  CHECK(t.attention_seconds == seconds(10 * (20 + 40 + 40 + 100)));
  CHECK(t.linear_seconds == seconds(2 * 40'000));
  CHECK(t.exposed_exchange_seconds == seconds(10 * (60 - 58 + 140 - 130)));
}

TEST_CASE("seconds are those of one global batch, on the average") {
  std::vector<layer_time> two = uneven;
  for (layer_time const& t : uneven) {
    two.push_back(layer(3 * t.attention.forward, 3 * t.attention.backward, t.busy_ps[0]));
  }
  step_timing const t = training_step(small_plan(2), two, plain(), plain_step);
  CHECK(t.attention_seconds == seconds(10 * 150 * 2));
  CHECK(t.linear_seconds == seconds(60'000));
  CHECK(t.worst_step_attention_seconds == seconds(10 * 300));
}

TEST_CASE("pipeline stages show their bubble") {
  // Equal micro-steps on two equal stages: (2 + 2 - 1) * (f + b), of which two are work.
  std::vector<layer_time> const even(4, layer(10, 20, 30));
  step_options options = plain_step;
  options.stages = 2;
  step_timing const t = training_step(small_plan(), even, plain(), options);
  double const micro_step = 5 * 30 + 15'000;
  CHECK(t.step_seconds == seconds(3 * micro_step));
  CHECK(t.attention_seconds == seconds(2 * 5 * 30));
  CHECK(t.linear_seconds == seconds(2 * 15'000));
  CHECK(t.bubble_seconds == seconds(micro_step));
  CHECK(t.tokens_per_second_per_rank == doctest::Approx(4000.0 / 8 / t.step_seconds));

  // A micro-step that is longer than the others stretches the bubble.
  step_timing const u = training_step(small_plan(), uneven, plain(), options);
  CHECK(u.step_seconds == seconds(2 * 15'000 + 5 * 150 + u.bubble_seconds / ps));
  CHECK(u.bubble_seconds > t.bubble_seconds);
}

TEST_CASE("tensor parallelism divides the linear work") {
  step_options options = plain_step;
  options.tensor_parallel = 2;
  step_timing const t = training_step(small_plan(), uneven, plain(), options);
  CHECK(t.linear_seconds == seconds(30'000));
  CHECK(t.tokens_per_second_per_rank == doctest::Approx(4000.0 / 8 / t.step_seconds));
}

TEST_CASE("the bound is every segment uncut, spread over all ranks, and the linear work") {
  libra::batch_plan const plan = small_plan();
  step_options const& options = plain_step;
  libra::roofline const cost(plain().attention);
  libra::work const whole = cost(libra::tile_shape{0, 1000, 1000, plan.options.shape.group(), 128, {}});
  double const each = static_cast<double>(whole.forward + whole.backward) * plan.options.shape.kv_heads;
  step_bound const bound = bound_of(plan, plain(), options);
  CHECK(bound.attention_seconds == seconds(10 * 4 * each / 4));
  CHECK(bound.step_seconds == seconds(10 * each + 60'000));

  step_options recomputed = options;
  recomputed.recompute = true;
  CHECK(bound_of(plan, plain(), recomputed).attention_seconds ==
        seconds(10 * (each + static_cast<double>(whole.forward) * plan.options.shape.kv_heads)));
  step_options staged = options;
  staged.stages = 2;
  CHECK(bound_of(plan, plain(), staged).step_seconds == doctest::Approx(bound.step_seconds / 2));
}

TEST_CASE("options and times that do not fit are errors") {
  CHECK_THROWS_WITH_AS(static_cast<void>(training_step(small_plan(), std::span(uneven).first(3), plain(), plain_step)),
                       "there are 3 layer times, expected 2 micro-steps of 2 pools", libra::input_error);
  step_options options = plain_step;
  options.stages = 11;
  CHECK_THROWS_WITH_AS(static_cast<void>(bound_of(small_plan(), plain(), options)),
                       "stages is 11, expected 1 to the number of layers, 10", libra::input_error);
}

TEST_CASE("linear layers wait for the slowest rank, of the job or of the pool") {
  libra::batch_plan plan = small_plan();
  plan.options.speeds_permille = {1000, 500, 1000, 250};
  step_timing const t = training_step(plan, uneven, plain(), plain_step);
  CHECK(t.linear_seconds == seconds(4 * 2 * 30'000));
  CHECK(t.step_seconds == seconds(240'000 + 1500));
  // Pool 1 has less attention but the slower rank.
  step_options options = plain_step;
  options.sync = synchronisation::batch;
  step_timing const apart = training_step(plan, uneven, plain(), options);
  CHECK(apart.linear_seconds == seconds(4 * 2 * 30'000));
  CHECK(apart.attention_seconds == seconds(10 * (20 + 20 + 10 + 10)));
  CHECK(apart.step_seconds == seconds(240'000 + 600));
}

TEST_CASE("the bound spreads attention over the sum of speeds") {
  libra::batch_plan plan = small_plan();
  step_bound const equal = bound_of(plan, plain(), plain_step);
  plan.options.speeds_permille = {1000, 500, 1000, 250};
  step_bound const bound = bound_of(plan, plain(), plain_step);
  CHECK(bound.attention_seconds == doctest::Approx(equal.attention_seconds * 4 / 2.75));
  CHECK(bound.step_seconds == doctest::Approx(bound.attention_seconds + 4 * 60'000 * ps));
  // Where pools go their own way, one has linear layers at half speed only.
  step_options options = plain_step;
  options.sync = synchronisation::batch;
  CHECK(bound_of(plan, plain(), options).step_seconds == doctest::Approx(bound.attention_seconds + 2 * 60'000 * ps));
}
