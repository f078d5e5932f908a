// Cost models: tiles priced per second.

#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>

#include <benchmark/benchmark.h>

#include "support/long_tailed.hpp"

#include <cstdint>
#include <vector>

namespace {

template <class Cost>
void price(benchmark::State& state) {
  Cost const cost{};
  auto const lengths = bench::long_tailed(4096);
  std::int64_t sum = 0;
  for (auto _ : state) {
    sum = 0;
    for (std::int64_t const length : lengths) {
      sum += cost(libra::tile_shape{length / 3, length, length, 8, 128, {}}).forward;
    }
    benchmark::DoNotOptimize(sum);
  }
  std::int64_t again = 0;
  for (std::int64_t const length : lengths) {
    again += cost(libra::tile_shape{length / 3, length, length, 8, 128, {}}).forward;
  }
  if (sum <= 0 || sum != again) {
    state.SkipWithError("the same tiles cost something else");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(lengths.size()));
}
BENCHMARK(price<libra::pair_count>);
BENCHMARK(price<libra::roofline>);

}  // namespace
