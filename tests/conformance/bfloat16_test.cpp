#include "conformance/suite.hpp"

#include <libra/host/bfloat16_kernel.hpp>
#include <libra/host/transport.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace {

using libra::host::bfloat16;

}  // namespace

template <>
inline constexpr double conformance::unit_roundoff<bfloat16> = 0x1p-8;

namespace {

struct bfloat16_ranks {
  using backend = libra::backend_pair<libra::host::transport, libra::host::bfloat16_kernel>;
  [[nodiscard]] static std::int32_t most_ranks() { return 8; }
  static constexpr int cases = 12;
  // Beyond the rounding of the results themselves.
  static constexpr conformance::tolerance tolerance{.output = 1e-5, .gradient = 1e-5};

  [[nodiscard]] static bool here(std::int32_t, libra::rank_id) { return true; }

  template <class Body>
  void operator()(std::int32_t ranks, Body body) const {
    libra::host::rank_group group(ranks);
    run_ranks(group, [&](libra::rank_id rank) {
      backend parts(libra::host::transport(group, rank), libra::host::bfloat16_kernel());
      body(parts);
    });
  }
};

/// Segment 0 of a pool, whole. Shape: `[length, heads, head_dim]`, or `[length, heads]`.
template <class T>
std::vector<double> whole(libra::pool_batch const& batch, std::vector<conformance::home_tensors<T>> const& ranks,
                          libra::tensor t) {
  std::int32_t const heads = heads_of(t, batch.shape);
  std::int64_t const length = batch.length(libra::segment_id(0));
  std::int64_t const width = is_statistic(t) ? 1 : batch.shape.head_dim;
  std::vector<T> values(static_cast<std::size_t>(length * heads * width));
  libra::gather_region(
      batch, {t, libra::segment_id(0), 0, heads, {0, length}},
      [&](libra::rank_id r) { return std::span<T const>(conformance::of(ranks[r.index()], t)); }, std::span(values));
  return {values.begin(), values.end()};
}

/// The same of an input, as the ranks are given it.
std::vector<double> given(libra::pool_batch const& batch, libra::tensor t) {
  libra::segment const& what = batch.segments[0].what;
  std::vector<double> all;
  std::vector<float> row(static_cast<std::size_t>(batch.shape.head_dim));
  for (std::int64_t i = 0; i < what.length; ++i) {
    for (std::int32_t h = 0; h < heads_of(t, batch.shape); ++h) {
      libra::host::fill_random_row(conformance::seed, t, what.document.value, what.offset + i, h, row);
      for (float const x : row) {
        all.push_back(static_cast<double>(static_cast<float>(bfloat16(x))));
      }
    }
  }
  return all;
}

/// What dk becomes when delta is taken from outputs `o` instead of the exact ones.
std::vector<double> key_gradient_with(std::vector<double> const& o, libra::pool_batch const& batch,
                                      std::vector<conformance::home_tensors<double>> const& exact) {
  using libra::tensor;
  std::vector<double> const q = given(batch, tensor::q), k = given(batch, tensor::k), d_o = given(batch, tensor::d_o);
  std::vector<double> const exact_o = whole(batch, exact, tensor::o), lse = whole(batch, exact, tensor::lse);
  std::vector<double> dk = whole(batch, exact, tensor::dk);
  auto const heads = static_cast<std::size_t>(batch.shape.q_heads);
  auto const kv_heads = static_cast<std::size_t>(batch.shape.kv_heads);
  auto const dim = static_cast<std::size_t>(batch.shape.head_dim);
  auto const scale = static_cast<double>(libra::default_softmax_scale(batch.shape));
  for (std::size_t row = 0; row < lse.size(); ++row) {  // row and head
    double delta = 0;
    for (std::size_t c = 0; c < dim; ++c) {
      delta += d_o[row * dim + c] * (o[row * dim + c] - exact_o[row * dim + c]);
    }
    for (std::size_t key = 0; key <= row / heads; ++key) {
      std::size_t const at = (key * kv_heads + row % heads / (heads / kv_heads)) * dim;
      double score = 0;
      for (std::size_t c = 0; c < dim; ++c) {
        score += q[row * dim + c] * k[at + c];
      }
      double const weight = std::exp(scale * score - lse[row]) * delta * scale;
      for (std::size_t c = 0; c < dim; ++c) {
        dk[at + c] -= weight * q[row * dim + c];
      }
    }
  }
  return dk;
}

/// The largest difference, in units of what one rounding to bf16 may cost, beyond what fp32 sums are off by.
double roundings(std::vector<double> const& got, std::vector<double> const& expected) {
  double const largest = std::abs(*std::ranges::max_element(expected, {}, [](double x) { return std::abs(x); }));
  double most = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    double const once = std::abs(expected[i]) / 256 + 1e-5 * largest;
    most = std::max(most, std::abs(got[i] - expected[i]) / once);
  }
  return most;
}

TEST_CASE("gradients of keys and values are summed in fp32 and rounded once, however many tiles add to them") {
  libra::pool_batch const batch = conformance::busy_batch(4);
  auto const exact = conformance::reference<bfloat16>(batch);
  for (std::int32_t const waves : {1, 3}) {
    CAPTURE(waves);
    auto const plan =
        conformance::plan(batch, libra::pooled{}, {.width = libra::host::bfloat16_kernel::width, .waves = waves});
    REQUIRE(std::ranges::count(plan->dispatch.backward, libra::segment_id(0), &libra::tile::segment) >= 4);
    auto const got = conformance::run<bfloat16_ranks>(plan);
    using libra::tensor;
    CHECK(roundings(whole(batch, got, tensor::o), whole(batch, exact, tensor::o)) <= 1);
    CHECK(roundings(whole(batch, got, tensor::dv), whole(batch, exact, tensor::dv)) <= 1);
    CHECK(roundings(whole(batch, got, tensor::dk), key_gradient_with(whole(batch, got, tensor::o), batch, exact)) <= 1);
  }
}

}  // namespace

LIBRA_CONFORMANCE(bfloat16_ranks)
