// Dispatch and lowering of one pool of 64 ranks: the part of planning that every rank repeats per micro-step.

#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>
#include <libra/program/verifier.hpp>

#include <benchmark/benchmark.h>

#include "support/long_tailed.hpp"

#include <algorithm>
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

}  // namespace
