// Packers and the arrangement of packs: documents per second.

#include <libra/pack/arrange.hpp>
#include <libra/pack/balanced.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/pack/bin_bound.hpp>
#include <libra/pack/first_fit_decreasing.hpp>
#include <libra/pack/in_order.hpp>

#include <benchmark/benchmark.h>

#include "support/long_tailed.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace {

constexpr std::int64_t window = 262144;

bool holds(libra::packing const& packed, std::vector<std::int64_t> const& lengths) {
  std::int64_t tokens = 0;
  for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
    std::int64_t used = 0;
    for (libra::segment const& piece : packed.sequences[s]) {
      used += piece.length;
    }
    if (used > window) return false;
    tokens += used;
  }
  return tokens == std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

template <class Packer>
void pack(benchmark::State& state) {
  auto const lengths = bench::long_tailed(static_cast<std::size_t>(state.range(0)));
  libra::packing packed;
  for (auto _ : state) {
    packed = Packer{}(lengths, window);
    benchmark::DoNotOptimize(packed);
  }
  if (!holds(packed, lengths)) {
    state.SkipWithError("tokens were lost");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
  state.counters["over_bin_bound"] =
      static_cast<double>(packed.sequences.size()) / static_cast<double>(libra::bin_lower_bound(packed));
  state.counters["fill"] = 1.0 - static_cast<double>(packed.padding_tokens()) /
                                     static_cast<double>(packed.sequences.size()) / static_cast<double>(window);
}
BENCHMARK(pack<libra::in_order>)->RangeMultiplier(10)->Range(10'000, 1'000'000)->Complexity(benchmark::oN);
BENCHMARK(pack<libra::best_fit_decreasing>)
    ->RangeMultiplier(10)
    ->Range(10'000, 1'000'000)
    ->Complexity(benchmark::oNLogN);
BENCHMARK(pack<libra::first_fit_decreasing>)
    ->RangeMultiplier(10)
    ->Range(10'000, 1'000'000)
    ->Complexity(benchmark::oNLogN);
BENCHMARK(pack<libra::balanced>)->RangeMultiplier(10)->Range(10'000, 1'000'000)->Complexity(benchmark::oNLogN);

void arrange(benchmark::State& state) {
  auto const lengths = bench::long_tailed(static_cast<std::size_t>(state.range(0)));
  libra::packing const packed = libra::best_fit_decreasing{}(lengths, window);
  libra::packing arranged;
  for (auto _ : state) {
    arranged = packed;
    libra::arrange_for_home(arranged, {window, 8});
    benchmark::DoNotOptimize(arranged);
  }
  if (!holds(arranged, lengths)) {
    state.SkipWithError("tokens were lost");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(arrange)->RangeMultiplier(10)->Range(10'000, 1'000'000)->Complexity(benchmark::oNLogN);

}  // namespace
