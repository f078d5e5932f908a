// One thread of the host tile kernel: flop per second of useful work (masked pairs count for nothing), and its share of
// what the same core does when it only multiplies and adds. Results are checked against the reference before the
// timing. Beside it: the GEMM library on matrices of one head's products, and a loop as one would write it first.

#include <libra/core/random.hpp>
#include <libra/core/wide.hpp>
#include <libra/host/instruction_set.hpp>
#include <libra/host/reference.hpp>
#include <libra/host/tile_kernel.hpp>

#include <benchmark/benchmark.h>

#ifdef LIBRA_WITH_DNNL
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using libra::attention_mask;
using libra::host::head_rows;

/// A causal segment of one key/value head, its inputs and its outputs.
struct segment {
  std::int64_t length;
  std::int32_t heads;
  std::int32_t head_dim;
  std::vector<float> q = random(1, heads);
  std::vector<float> k = random(2, 1);
  std::vector<float> v = random(3, 1);
  std::vector<float> d_o = random(4, heads);
  std::vector<float> o = std::vector<float>(q.size());
  std::vector<float> dq = std::vector<float>(q.size());
  std::vector<float> dk = std::vector<float>(k.size());
  std::vector<float> dv = std::vector<float>(k.size());
  std::vector<float> lse = std::vector<float>(static_cast<std::size_t>(length * heads));
  std::vector<float> delta = std::vector<float>(lse.size());
  libra::host::scratch memory{};

  [[nodiscard]] std::vector<float> random(std::uint64_t seed, std::int64_t row_heads) const {
    libra::random_bits bits(seed);
    std::vector<float> values(static_cast<std::size_t>(length * row_heads * head_dim));
    for (float& value : values) {
      value = static_cast<float>(bits.between(-1'000'000, 1'000'000)) * 1.5e-6F;
    }
    return values;
  }

  [[nodiscard]] float scale() const { return 1.0F / std::sqrt(static_cast<float>(head_dim)); }

  template <class Values>
  [[nodiscard]] auto view(Values& values, std::int64_t row, std::int64_t row_heads, std::int64_t width) const {
    std::int64_t const row_stride = row_heads * width;
    return head_rows{values.data() + row * row_stride, row_stride, width};
  }

  [[nodiscard]] libra::host::tile_extent extent(std::int64_t begin, std::int64_t end) const {
    return {{begin, end}, {0, end}, length, heads, head_dim, attention_mask::causal(), scale()};
  }

  void forward(std::int64_t begin, std::int64_t end) {
    attend({extent(begin, end), view(q, begin, heads, head_dim), view(k, 0, 1, head_dim), view(v, 0, 1, head_dim),
            view(o, begin, heads, head_dim), view(lse, begin, heads, 1)},
           memory);
  }

  void backward(std::int64_t begin, std::int64_t end) {
    row_dot(view(d_o, begin, heads, head_dim), view(o, begin, heads, head_dim), view(delta, begin, heads, 1),
            {end - begin, heads, head_dim});
    attend_backward(
        {extent(begin, end), view(q, begin, heads, head_dim), view(k, 0, 1, head_dim), view(v, 0, 1, head_dim),
         view(d_o, begin, heads, head_dim), view(lse, begin, heads, 1), view(delta, begin, heads, 1),
         view(dq, begin, heads, head_dim), view(dk, 0, 1, head_dim), view(dv, 0, 1, head_dim)},
        memory);
  }

  /// Products of the forward pass; the backward pass has two and a half times as many.
  [[nodiscard]] double forward_flop() const {
    auto const pairs = static_cast<double>(attention_mask::causal().pairs(0, length, length));
    return 4.0 * pairs * heads * head_dim;
  }
};

/// Largest difference over the largest expected magnitude.
double relative_error(std::vector<float> const& got, std::vector<double> const& expected) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double const difference = std::abs(static_cast<double>(got[i]) - expected[i]);
    error = difference <= error ? error : difference;
    size = std::max(size, std::abs(expected[i]));
  }
  return error / size;
}

/// Runs both passes and says how far the results are from the reference.
double check(segment& s) {
  s.forward(0, s.length);
  s.backward(0, s.length);
  auto const expected = libra::host::reference_attention({.length = s.length,
                                                          .heads = s.heads,
                                                          .head_dim = s.head_dim,
                                                          .mask = attention_mask::causal(),
                                                          .scale = static_cast<double>(s.scale()),
                                                          .q = s.view(s.q, 0, s.heads, s.head_dim),
                                                          .k = s.view(s.k, 0, 1, s.head_dim),
                                                          .v = s.view(s.v, 0, 1, s.head_dim),
                                                          .d_o = s.view(s.d_o, 0, s.heads, s.head_dim)});
  return std::max({relative_error(s.o, expected.o), relative_error(s.lse, expected.lse),
                   relative_error(s.dq, expected.dq), relative_error(s.dk, expected.dk),
                   relative_error(s.dv, expected.dv)});
}

/// Arguments: tokens, heads, head_dim, rows of a tile.
template <bool Backward>
void attention(benchmark::State& state) {
  segment s{.length = state.range(0),
            .heads = static_cast<std::int32_t>(state.range(1)),
            .head_dim = static_cast<std::int32_t>(state.range(2))};
  std::int64_t const tile_rows = state.range(3);
  double const error = check(s);
  if (!(error < 1e-4)) {
    state.SkipWithError("differs from the reference");
    return;
  }
  double const peak = libra::host::measure_peak_flop_per_second();
  for (auto _ : state) {
    for (std::int64_t row = 0; row < s.length; row += tile_rows) {
      if constexpr (Backward) {
        s.backward(row, std::min(row + tile_rows, s.length));
      } else {
        s.forward(row, std::min(row + tile_rows, s.length));
      }
    }
  }
  double const flop = static_cast<double>(state.iterations()) * s.forward_flop() * (Backward ? 2.5 : 1.0);
  state.SetLabel(std::string(libra::host::instruction_set()));
  state.counters["flop_per_second"] = benchmark::Counter(flop, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(flop / peak, benchmark::Counter::kIsRate);
  state.counters["peak"] = peak;
  state.counters["error"] = error;
}

void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"tokens", "heads", "head_dim", "tile_rows"})->Unit(benchmark::kMillisecond);
  bench->Args({4096, 1, 128, 4096})->Args({4096, 8, 128, 128})->Args({4096, 1, 64, 4096})->Args({1024, 8, 128, 16});
}

BENCHMARK(attention<false>)->Name("forward")->Apply(shapes);
BENCHMARK(attention<true>)->Name("backward")->Apply(shapes);

/// Counts `flop_per_iteration` in the same columns.
void count(benchmark::State& state, double flop_per_iteration) {
  double const peak = libra::host::measure_peak_flop_per_second();
  double const flop = static_cast<double>(state.iterations()) * flop_per_iteration;
  state.counters["flop_per_second"] = benchmark::Counter(flop, benchmark::Counter::kIsRate);
  state.counters["of_peak"] = benchmark::Counter(flop / peak, benchmark::Counter::kIsRate);
  state.counters["peak"] = peak;
}

#ifdef LIBRA_WITH_DNNL
/// scores = q k^T, then o = scores v, without mask and softmax: what a GEMM library makes of attention's products, on
/// one thread too.
void gemm(benchmark::State& state) {
  omp_set_num_threads(1);
  segment s{.length = state.range(0), .heads = 1, .head_dim = static_cast<std::int32_t>(state.range(1))};
  std::int64_t const n = s.length;
  std::int64_t const d = s.head_dim;
  std::vector<float> scores(static_cast<std::size_t>(n * n));
  for (auto _ : state) {
    dnnl_sgemm('N', 'T', n, n, d, 1.0F, s.q.data(), d, s.k.data(), d, 0.0F, scores.data(), n);
    dnnl_sgemm('N', 'N', n, d, n, 1.0F, scores.data(), n, s.v.data(), d, 0.0F, s.o.data(), d);
    benchmark::DoNotOptimize(s.o.data());
  }
  count(state, 4.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(d));
}

BENCHMARK(gemm)
    ->Name("onednn_gemm")
    ->ArgNames({"tokens", "head_dim"})
    ->Unit(benchmark::kMillisecond)
    ->Args({4096, 128});
#endif

/// Causal attention row by row, as a plain loop that the compiler may vectorise.
void plain_loop(benchmark::State& state) {
  segment s{.length = state.range(0), .heads = 1, .head_dim = static_cast<std::int32_t>(state.range(1))};
  auto const d = static_cast<std::size_t>(s.head_dim);
  std::vector<float> p(static_cast<std::size_t>(s.length));
  for (auto _ : state) {
    for (std::size_t row = 0; row < p.size(); ++row) {
      float largest = -1e30F;
      for (std::size_t key = 0; key <= row; ++key) {
        float score = 0;
        for (std::size_t c = 0; c < d; ++c) score += s.q[row * d + c] * s.k[key * d + c];
        p[key] = score * s.scale();
        largest = std::max(largest, p[key]);
      }
      float total = 0;
      for (std::size_t key = 0; key <= row; ++key) total += p[key] = std::exp(p[key] - largest);
      float* const o = s.o.data() + row * d;
      std::fill_n(o, d, 0.0F);
      for (std::size_t key = 0; key <= row; ++key) {
        for (std::size_t c = 0; c < d; ++c) o[c] += p[key] / total * s.v[key * d + c];
      }
    }
    benchmark::DoNotOptimize(s.o.data());
  }
  count(state, s.forward_flop());
}

BENCHMARK(plain_loop)->ArgNames({"tokens", "head_dim"})->Unit(benchmark::kMillisecond)->Args({4096, 128});

void reference(benchmark::State& state) {
  segment s{.length = 2048, .heads = 1, .head_dim = 128};
  auto const q = s.view(s.q, 0, 1, s.head_dim);
  for (auto _ : state) {
    auto result = libra::host::reference_attention({.length = s.length,
                                                    .head_dim = s.head_dim,
                                                    .mask = attention_mask::causal(),
                                                    .scale = static_cast<double>(s.scale()),
                                                    .q = q,
                                                    .k = s.view(s.k, 0, 1, s.head_dim),
                                                    .v = s.view(s.v, 0, 1, s.head_dim),
                                                    .d_o = s.view(s.d_o, 0, 1, s.head_dim)});
    benchmark::DoNotOptimize(result);
  }
  state.counters["flop_per_second"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * s.forward_flop() * 3.5, benchmark::Counter::kIsRate);
}

BENCHMARK(reference)->Unit(benchmark::kMillisecond);

}  // namespace
