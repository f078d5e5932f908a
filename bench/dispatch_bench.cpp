// Dispatch and lowering of one pool of 64 ranks: the part of planning that every rank repeats per micro-step.

#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/model/machine.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>
#include <libra/program/verifier.hpp>

#include <benchmark/benchmark.h>

#include "support/long_tailed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

libra::pool_batch sample_pool() {
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 libra::pooled{}, libra::roofline{}};
  libra::layout const l{.window_tokens = 262144, .dp = 8, .cp = 8, .pool = 8, .micro_steps = 1};
  return libra::batch_of(planner.plan(bench::long_tailed(1200), l), libra::micro_step_id(0), libra::pool_id(0));
}

template <class Dispatcher, class Cost>
void dispatch(benchmark::State& state) {
  libra::pool_batch const batch = sample_pool();
  libra::pool_dispatch tiles;
  for (auto _ : state) {
    tiles = Dispatcher{}(batch, Cost{}, libra::topology{});
    benchmark::DoNotOptimize(tiles);
  }
  auto const certificate = libra::certify(batch, tiles, Cost{});
  if (certificate.makespan.forward < certificate.lower_bound.forward) {
    state.SkipWithError("better than the bound");
  }
  state.counters["segments"] = static_cast<double>(batch.segments.size());
  state.counters["gap"] = certificate.gap();
}
BENCHMARK(dispatch<libra::pooled, libra::pair_count>)->Unit(benchmark::kMillisecond);
BENCHMARK(dispatch<libra::pooled, libra::roofline>)->Unit(benchmark::kMillisecond);
BENCHMARK(dispatch<libra::ulysses, libra::pair_count>)->Unit(benchmark::kMillisecond);

template <class Dispatcher>
void lower(benchmark::State& state) {
  libra::pool_batch const batch = sample_pool();
  auto const tiles = Dispatcher{}(batch, libra::roofline{}, libra::topology{});
  auto const direction = static_cast<libra::pass>(state.range(0));
  libra::pool_program programs;
  for (auto _ : state) {
    programs = libra::lower(batch, tiles.of(direction), direction);
    benchmark::DoNotOptimize(programs);
  }
  if (libra::verdict const v = libra::verify(batch, programs); !v) {
    state.SkipWithError(v.what.c_str());
  }
  std::size_t transfers = 0;
  for (libra::program const& p : programs.ranks) {
    transfers += p.sends.size();
  }
  state.counters["transfers"] = static_cast<double>(transfers);
}
BENCHMARK(lower<libra::pooled>)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(lower<libra::ulysses>)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

/// Documents that nearly fill `tokens`.
std::vector<std::int64_t> documents_of(std::int64_t tokens, std::int64_t longest) {
  std::vector<std::int64_t> lengths = bench::long_tailed(static_cast<std::size_t>(tokens / 256), longest);
  std::int64_t sum = 0;
  auto const enough = std::ranges::find_if(lengths, [&](std::int64_t length) {
    sum += length;
    return sum > tokens - tokens / 64;
  });
  lengths.erase(enough, lengths.end());
  return lengths;
}

/// What every rank does for its pool where ranks share nodes: both passes, scattered shards tried, waves chosen.
/// `whole`: certificate and fingerprint too. Arguments: window, longest document.
template <bool whole>
void plan_pool(benchmark::State& state) {
  libra::machine const& m = libra::h200_sxm;
  libra::scheduler const planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                 libra::pooled{}, libra::roofline(m.attention)};
  libra::layout const l{.window_tokens = state.range(0), .dp = 8, .cp = 8, .pool = 8, .micro_steps = 1};
  libra::plan_options const options{
      .shape = {.q_heads = 32, .kv_heads = 4, .head_dim = 128}, .links = m.links, .scatter = true};
  libra::batch_plan const batch = planner.plan(documents_of(l.dp * l.window_tokens, state.range(1)), l, options);
  libra::pool_plan pool;
  for (auto _ : state) {
    pool = whole ? planner.plan_pool(batch, libra::micro_step_id(0), libra::pool_id(0))
                 : planner.draft_pool(batch, libra::micro_step_id(0), libra::pool_id(0));
    benchmark::DoNotOptimize(pool);
  }
  std::size_t transfers = 0;
  for (libra::pool_program const* const p : {&pool.forward, &pool.backward}) {
    if (libra::verdict const v = libra::verify(pool.batch, *p); !v) {
      state.SkipWithError(v.what.c_str());
    }
    for (libra::program const& rank : p->ranks) {
      transfers += rank.sends.size();
    }
  }
  state.counters["segments"] = static_cast<double>(pool.batch.segments.size());
  state.counters["transfers"] = static_cast<double>(transfers);
}
BENCHMARK(plan_pool<false>)->Args({1 << 18, 1 << 19})->Args({1 << 20, 1 << 11})->Unit(benchmark::kMillisecond);
BENCHMARK(plan_pool<true>)->Args({1 << 18, 1 << 19})->Args({1 << 20, 1 << 11})->Unit(benchmark::kMillisecond);

}  // namespace
