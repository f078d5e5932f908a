// The simulator in MagiAttention's published setting: TFLOP/s of useful work per GPU, forward and backward, of context
// parallelism over 8 to 64 ranks of h100-sxm, one packed sequence of 8K tokens a rank. docs/simulator.md shows the
// published figures beside these. Needs the published histogram of lengths: LIBRA_HISTOGRAM=FILE.csv.

#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/dispatch/usp.hpp>
#include <libra/dispatch/zigzag_ring.hpp>
#include <libra/model/machine.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>
#include <libra/sim/engine.hpp>
#include <libra/sim/kernel_time.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct histogram_bin {
  std::int64_t first{};
  std::int64_t last{};
  std::int64_t count{};
};

/// Rows such as "[11, 50]",391188,... after a line of titles.
std::vector<histogram_bin> read_histogram() {
  std::vector<histogram_bin> bins;
  char const* const path = std::getenv("LIBRA_HISTOGRAM");
  if (path == nullptr) {
    return bins;
  }
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::ranges::replace_if(line, [](char c) { return c < '0' || c > '9'; }, ' ');
    std::istringstream numbers(line);
    histogram_bin bin;
    if (numbers >> bin.first >> bin.last >> bin.count) {
      bins.push_back({std::max<std::int64_t>(1, bin.first), bin.last, bin.count});
    }
  }
  return bins;
}

/// Lengths that add up to `total`, none above a quarter of it.
std::vector<std::int64_t> draw(std::vector<histogram_bin> const& bins, std::int64_t total, libra::random_bits& bits) {
  std::int64_t all = 0;
  for (histogram_bin const& b : bins) {
    all += b.count;
  }
  std::vector<std::int64_t> lengths;
  for (std::int64_t left = total; left > 0;) {
    std::int64_t at = bits.between(0, all - 1);
    auto bin = bins.begin();
    for (; at >= bin->count; ++bin) {
      at -= bin->count;
    }
    std::int64_t const length = bits.between(bin->first, bin->last);
    if (length <= total / 4) {
      lengths.push_back(std::min(length, left));
      left -= lengths.back();
    }
  }
  return lengths;
}

/// What one rank sends one rank of another node, as NCCL joins a communicator of so many Hopper ranks.
///
/// A node of eight ranks with a network port each gets 16 channels, and a peer of another node two of them as long as
/// no channel serves more than four such peers' worth, one in larger communicators (NCCL 2.20 and later). A channel's
/// 20 GB/s are what the published ring moves over each of its channels, 17 to 23 by size and pass; 18.3 were measured
/// by NVIDIA/nccl issue 1272 (sendrecv on 32 GH200, against 24.2 on 16).
std::int64_t nccl_peer_bytes_per_second(std::int32_t ranks) {
  constexpr std::int32_t channels = 16;
  constexpr std::int64_t channel_bytes_per_second = 20'000'000'000;
  std::int32_t of_a_peer = 2;
  while (of_a_peer > 1 && of_a_peer * ranks > 4 * channels) {
    of_a_peer /= 2;
  }
  return of_a_peer * channel_bytes_per_second;
}

/// What a published system does besides dispatching.
struct setting {
  libra::sharding home{libra::sharding::contiguous};
  bool relay{true};
  bool keep_inputs{false};
  /// Peers have the channels that NCCL gives them unasked; otherwise as many as fill a port (`communicator_options`).
  bool default_channels{true};
  int draws{20};
  /// Simulates so many query heads, and an eighth of them key/value heads, instead of 64: rings list so many tiles and
  /// transfers that a pass over 64 ranks would take tens of GiB.
  std::int32_t q_heads{64};
};

template <class Dispatcher>
void published(benchmark::State& state, Dispatcher const& dispatch, setting const& as) {
  std::vector<histogram_bin> const bins = read_histogram();
  if (bins.empty()) {
    state.SkipWithError("LIBRA_HISTOGRAM names no histogram");
    return;
  }
  auto const ranks = static_cast<std::int32_t>(state.range(0));
  auto const waves = static_cast<std::int32_t>(state.range(1));
  int const draws = as.draws;
  libra::layout const l{.window_tokens = std::int64_t{8192} * ranks, .dp = 1, .cp = ranks, .pool = 1, .micro_steps = 1};
  libra::plan_options const options{.shape = {.q_heads = as.q_heads, .kv_heads = as.q_heads / 8, .head_dim = 128},
                                    .links = libra::h100_sxm.links,
                                    .width = {},
                                    .home = as.home,
                                    .waves = waves,
                                    .relay = as.relay,
                                    .keep_inputs = as.keep_inputs};
  libra::scheduler const planner{libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, dispatch,
                                 libra::roofline{libra::h100_sxm.attention}};
  libra::machine machine = libra::h100_sxm;
  if (as.default_channels) {
    machine.peer_bytes_per_second = nccl_peer_bytes_per_second(ranks);
  }
  libra::sim::kernel_time const time(machine.attention);
  libra::sim::engine clock;
  double rate[2]{};
  for (auto _ : state) {
    libra::random_bits bits(2026);
    rate[0] = rate[1] = 0;
    for (int i = 0; i < draws; ++i) {
      auto const lengths = draw(bins, l.window_tokens, bits);
      auto const pool =
          planner.draft_pool(planner.plan(lengths, l, options), libra::micro_step_id(0), libra::pool_id(0));
      double pairs = 0;
      for (std::int64_t const n : lengths) {
        pairs += 0.5 * static_cast<double>(n) * static_cast<double>(n + 1);
      }
      for (libra::pass const p : {libra::pass::forward, libra::pass::backward}) {
        double const seconds =
            static_cast<double>(clock.run(pool.batch, pool.of(p), machine, time).makespan_ps) * 1e-12;
        double const flop = (p == libra::pass::forward ? 4.0 : 10.0) * pairs * as.q_heads * 128;
        rate[static_cast<int>(p)] += flop / seconds / ranks * 1e-12 / draws;
      }
    }
  }
  if (rate[0] <= 0 || rate[0] > 700 || rate[1] <= 0 || rate[1] > 700) {
    state.SkipWithError("a rate that no such rank has");
  }
  state.counters["forward_tflops"] = rate[0];
  state.counters["backward_tflops"] = rate[1];
}

void each_size(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ranks", "waves"})->Unit(benchmark::kMillisecond)->Iterations(1);
  for (std::int64_t const ranks : {8, 16, 32, 64}) {
    b->Args({ranks, 1});
  }
}
/// With few draws where one takes long; 32 ranks also with an eighth of the heads, which shows what that changes.
void each_ring(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ranks", "waves", "draws", "heads"})->Unit(benchmark::kMillisecond)->Iterations(1);
  b->Args({8, 1, 20, 64})->Args({16, 1, 20, 64})->Args({32, 1, 4, 64})->Args({32, 1, 4, 8})->Args({64, 1, 4, 8});
}
/// 0: as many waves as the planner finds best.
void each_size_and_waves(benchmark::internal::Benchmark* b) {
  each_size(b);
  for (std::int64_t const waves : {2, 0}) {
    for (std::int64_t const ranks : {8, 16, 32, 64}) {
      b->Args({ranks, waves});
    }
  }
}

/// As published: keys go from their home to every rank that needs them, and queries, keys and values stay where they
/// were computed on for the backward pass.
void ulysses(benchmark::State& s) { published(s, libra::ulysses{}, {.relay = false, .keep_inputs = true}); }
void ulysses_relayed(benchmark::State& s) { published(s, libra::ulysses{}, {}); }
void usp(benchmark::State& s) { published(s, libra::usp{}, {.home = libra::sharding::zigzag, .keep_inputs = true}); }
void zigzag_ring(benchmark::State& s) {
  published(s, libra::zigzag_ring{},
            {.home = libra::sharding::zigzag,
             .keep_inputs = true,
             .draws = static_cast<int>(s.range(2)),
             .q_heads = static_cast<std::int32_t>(s.range(3))});
}
void pooled_default_channels(benchmark::State& s) { published(s, libra::pooled{}, {}); }
void pooled(benchmark::State& s) { published(s, libra::pooled{}, {.default_channels = false}); }
BENCHMARK(ulysses)->Apply(each_size);
BENCHMARK(ulysses_relayed)->Apply(each_size_and_waves);
BENCHMARK(usp)->Apply(each_size);
BENCHMARK(zigzag_ring)->Apply(each_ring);
BENCHMARK(pooled)->Apply(each_size_and_waves);
BENCHMARK(pooled_default_channels)->Apply(each_size_and_waves);

}  // namespace
