// Pools of a large job: one partition of 65,536 slots.

#include <libra/pool/fixed_size.hpp>

#include <benchmark/benchmark.h>

namespace {

void fixed_size(benchmark::State& state) {
  libra::layout const l{.dp = 65536, .pool = 12};
  libra::pool_partition pools;
  for (auto _ : state) {
    pools = libra::fixed_size{}(l, {});
    benchmark::DoNotOptimize(pools);
  }
  if (pools.dp() != l.dp || pools.largest() > l.pool || pools.size() != l.pools_per_step()) {
    state.SkipWithError("not a partition");
  }
}
BENCHMARK(fixed_size);

}  // namespace
