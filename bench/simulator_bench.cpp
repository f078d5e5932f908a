// The simulator on pools of 64 and 512 ranks: program ops and flows per second of one core. A list of 64 slots has
// about 3,000 pool programs a pass, so this decides how many systems can be compared in a minute.

#include <libra/core/random.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/model/machine.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>
#include <libra/sim/engine.hpp>

#include <benchmark/benchmark.h>

#include "support/long_tailed.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

constexpr libra::sim::kernel_time kernel(libra::h200_sxm.attention);

/// The timing is only worth something if every rank computed for its time and every port carried its bytes.
bool holds(libra::sim::pool_timing const& t) {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  for (libra::sim::rank_timing const& r : t.ranks) {
    sent += r.bytes_sent();
    received += r.bytes_received();
    if (r.end_ps < r.compute_busy_ps || r.end_ps < r.wire_ps()) {
      return false;
    }
  }
  return sent == received && t.makespan_ps > 0;
}

void simulate(benchmark::State& state, libra::pool_batch const& batch, libra::pool_program const& programs) {
  libra::sim::engine engine;
  libra::sim::pool_timing const first = engine.run(batch, programs, libra::h200_sxm, kernel);
  libra::sim::pool_timing last;
  for (auto _ : state) {
    last = engine.run(batch, programs, libra::h200_sxm, kernel);
    benchmark::DoNotOptimize(last);
  }
  if (!holds(last) || last != first) {
    state.SkipWithError("the pool's timing is wrong");
  }
  std::size_t ops = 0;
  for (libra::program const& p : programs.ranks) {
    ops += p.ops.size();
  }
  libra::sim::pool_flows flows;
  flows.collect(batch, programs, libra::h200_sxm.links.ranks_per_node);
  auto const runs = static_cast<double>(state.iterations());
  state.counters["ops"] = static_cast<double>(ops);
  state.counters["ops_per_second"] = benchmark::Counter(runs * static_cast<double>(ops), benchmark::Counter::kIsRate);
  state.counters["flows_per_second"] =
      benchmark::Counter(runs * static_cast<double>(flows.all().size()), benchmark::Counter::kIsRate);
  state.counters["makespan_ms"] = static_cast<double>(last.makespan_ps) * 1e-9;
}

/// A pool of a planned list. Arguments: slots (of eight ranks), waves, pass.
template <class Dispatcher>
void planned_pool(benchmark::State& state) {
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 Dispatcher{}, libra::roofline{}};
  auto const slots = static_cast<std::int32_t>(state.range(0));
  libra::layout const l{.window_tokens = 262144, .dp = slots, .cp = 8, .pool = slots, .micro_steps = 1};
  libra::plan_options const options{.waves = static_cast<std::int32_t>(state.range(1))};
  auto const lengths = bench::long_tailed(static_cast<std::size_t>(150 * slots));
  libra::pool_plan const plan =
      planner.plan_pool(planner.plan(lengths, l, options), libra::micro_step_id(0), libra::pool_id(0));
  simulate(state, plan.batch, plan.of(static_cast<libra::pass>(state.range(2))));
}
BENCHMARK(planned_pool<libra::pooled>)
    ->ArgNames({"slots", "waves", "pass"})
    ->Args({8, 1, 0})
    ->Args({8, 1, 1})
    ->Args({8, 4, 0})
    ->Args({8, 4, 1})
    ->Args({64, 4, 0})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(planned_pool<libra::ulysses>)
    ->ArgNames({"slots", "waves", "pass"})
    ->Args({8, 1, 0})
    ->Unit(benchmark::kMicrosecond);

/// The worst case: every rank sends every other a different amount, in every round. Argument: ranks.
void dense_exchange(benchmark::State& state) {
  auto const ranks = static_cast<std::int32_t>(state.range(0));
  constexpr std::int32_t rounds = 4;
  libra::pool_batch batch;
  batch.home = {.window_tokens = ranks, .cp = ranks};
  batch.slots = 1;
  libra::pool_program programs;
  programs.ranks.resize(static_cast<std::size_t>(ranks));
  libra::random_bits bits(1);
  for (libra::program& p : programs.ranks) {
    for (std::int32_t round = 0; round < rounds; ++round) {
      auto const begin = static_cast<std::uint32_t>(p.sends.size());
      for (std::int32_t peer = 0; peer < ranks; ++peer) {
        p.sends.push_back(
            {{libra::tensor::k, libra::segment_id(0), 0, 1, {0, bits.between(1, 4096)}}, libra::rank_id(peer), {}});
      }
      p.ops.push_back({.kind = libra::op_kind::exchange,
                       .on = libra::queue::fetch,
                       .round = round,
                       .after = {},
                       .items = {begin, static_cast<std::uint32_t>(p.sends.size())},
                       .receives = {}});
    }
  }
  simulate(state, batch, programs);
}
BENCHMARK(dense_exchange)->Arg(64)->Arg(512)->Unit(benchmark::kMicrosecond);

}  // namespace
