// Placers: sequences per second, and how near the certificate's bound they come.

#include <libra/place/as_packed.hpp>
#include <libra/place/karmarkar_karp.hpp>
#include <libra/place/longest_first.hpp>
#include <libra/place/snake.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/certify.hpp>
#include <libra/pool/fixed_size.hpp>

#include <benchmark/benchmark.h>

#include "support/long_tailed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

template <class Placer>
void place_with(benchmark::State& state, Placer const& placer) {
  auto const sequences = static_cast<std::size_t>(state.range(0));
  std::vector<libra::int128> work;
  for (std::int64_t const length : bench::long_tailed(sequences)) {
    work.push_back(libra::int128{length} * length);
  }
  libra::layout const l{.dp = static_cast<std::int32_t>(sequences / 4), .pool = 8, .micro_steps = 4};
  libra::pool_partition const pools = libra::fixed_size{}(l, {});
  libra::placement placed;
  for (auto _ : state) {
    placed = placer(work, l, pools);
    benchmark::DoNotOptimize(placed);
  }
  std::vector<bool> seen(sequences);
  for (libra::sequence_id const s : placed.at) {
    seen[s.index()] = true;
  }
  if (placed.at.size() != sequences || std::ranges::count(seen, true) != static_cast<std::ptrdiff_t>(sequences)) {
    state.SkipWithError("not a permutation");
  }
  auto const certificate = libra::certify(work, l, pools, placed);
  state.counters["over_bound"] = libra::ratio(certificate.makespan, certificate.lower_bound);
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
}

void as_packed(benchmark::State& state) { place_with(state, libra::as_packed{}); }
void longest_first(benchmark::State& state) { place_with(state, libra::longest_first{}); }
void snake(benchmark::State& state) { place_with(state, libra::snake{}); }
void karmarkar_karp(benchmark::State& state) { place_with(state, libra::karmarkar_karp{}); }
void variance_reduced(benchmark::State& state) { place_with(state, libra::variance_reduced{}); }
void variance_reduced_unrefined(benchmark::State& state) {
  place_with(state, libra::variance_reduced{.refine_moves = 0});
}
BENCHMARK(as_packed)->Arg(16384);
BENCHMARK(snake)->RangeMultiplier(4)->Range(256, 16384)->Complexity(benchmark::oNLogN);
BENCHMARK(karmarkar_karp)->RangeMultiplier(4)->Range(256, 16384)->Complexity(benchmark::oNLogN);
BENCHMARK(longest_first)->RangeMultiplier(4)->Range(256, 16384)->Complexity(benchmark::oNLogN);
BENCHMARK(variance_reduced_unrefined)->RangeMultiplier(4)->Range(256, 16384)->Complexity(benchmark::oNLogN);
BENCHMARK(variance_reduced)->Arg(256)->Arg(16384);

}  // namespace
