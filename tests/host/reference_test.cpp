#include <libra/host/reference.hpp>

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::attention_mask;
using libra::host::head_rows;
using libra::host::reference_attention;
using libra::host::reference_problem;
using libra::host::reference_result;

/// One key/value head's inputs without gaps.
struct inputs {
  std::int64_t length;
  std::int32_t heads;
  std::int32_t head_dim;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> d_o;

  inputs(std::int64_t tokens, std::int32_t query_heads, std::int32_t dim, std::uint64_t seed)
      : length(tokens),
        heads(query_heads),
        head_dim(dim) {
    libra::random_bits bits(seed);
    auto const key_values = static_cast<std::size_t>(length * head_dim);
    for (auto* values : {&q, &k, &v, &d_o}) {
      bool const query_side = values == &q || values == &d_o;
      values->resize(query_side ? key_values * static_cast<std::size_t>(heads) : key_values);
      for (float& value : *values) {
        value = static_cast<float>(bits.between(-1'000'000, 1'000'000)) * 1e-6F;
      }
    }
  }

  [[nodiscard]] reference_problem problem(attention_mask mask) const {
    std::int64_t const row = std::int64_t{heads} * head_dim;
    return {.length = length,
            .heads = heads,
            .head_dim = head_dim,
            .mask = mask,
            .scale = 0.3,
            .q = {q.data(), row, head_dim},
            .k = {k.data(), head_dim, 0},
            .v = {v.data(), head_dim, 0},
            .d_o = {d_o.data(), row, head_dim}};
  }

  [[nodiscard]] std::size_t query_at(std::int64_t row, std::int64_t head) const {
    return static_cast<std::size_t>((row * heads + head) * head_dim);
  }
};

std::vector<attention_mask> const masks{attention_mask::causal(), attention_mask::full(), attention_mask::window(1),
                                        attention_mask::window(70), attention_mask::window(1000)};

TEST_CASE("equal scores average the visible values") {
  inputs in(300, 2, 16, 1);
  std::ranges::fill(in.q, 0.0F);
  for (attention_mask const& mask : masks) {
    reference_result const result = reference_attention(in.problem(mask));
    for (std::int64_t row = 0; row < in.length; ++row) {
      libra::row_range const seen = mask.visible(row, in.length);
      for (std::int64_t channel = 0; channel < in.head_dim; ++channel) {
        double mean = 0;
        for (std::int64_t key = seen.begin; key < seen.end; ++key) {
          mean += static_cast<double>(in.v[static_cast<std::size_t>(key * in.head_dim + channel)]);
        }
        mean /= static_cast<double>(seen.size());
        auto const at = in.query_at(row, 1) + static_cast<std::size_t>(channel);
        REQUIRE(result.o[at] == doctest::Approx(mean).epsilon(1e-12));
      }
      REQUIRE(result.lse[static_cast<std::size_t>(row * 2)] ==
              doctest::Approx(std::log(static_cast<double>(seen.size()))).epsilon(1e-12));
    }
  }
}

TEST_CASE("a row with one key returns that key's value and its score") {
  inputs const in(5, 1, 24, 2);
  reference_result const result = reference_attention(in.problem(attention_mask::window(1)));
  for (std::size_t row = 0; row < 5; ++row) {
    double score = 0;
    for (std::size_t c = 0; c < 24; ++c) {
      CHECK(result.o[row * 24 + c] == doctest::Approx(static_cast<double>(in.v[row * 24 + c])).epsilon(1e-12));
      // The value's gradient is the output's, and a probability that cannot change sends nothing to the scores.
      CHECK(result.dv[row * 24 + c] == doctest::Approx(static_cast<double>(in.d_o[row * 24 + c])).epsilon(1e-12));
      CHECK(result.dq[row * 24 + c] == doctest::Approx(0.0));
      CHECK(result.dk[row * 24 + c] == doctest::Approx(0.0));
      score += 0.3 * static_cast<double>(in.q[row * 24 + c]) * static_cast<double>(in.k[row * 24 + c]);
    }
    CHECK(result.lse[row] == doctest::Approx(score).epsilon(1e-12));
  }
}

/// The function whose gradient `d_o` asks for.
double weighted_output(inputs const& in, attention_mask mask) {
  reference_problem problem = in.problem(mask);
  problem.d_o = {};
  reference_result const result = reference_attention(problem);
  double sum = 0;
  for (std::size_t i = 0; i < result.o.size(); ++i) {
    sum += result.o[i] * static_cast<double>(in.d_o[i]);
  }
  return sum;
}

void check_gradient(inputs in, std::vector<float> inputs::* values, std::vector<double> const& gradient,
                    attention_mask mask) {
  for (std::size_t i = 0; i < gradient.size(); i += 7) {
    float& value = (in.*values)[i];
    float const kept = value;
    value = kept + 0.0078125F;
    double const above = weighted_output(in, mask);
    double const high = static_cast<double>(value);
    value = kept - 0.0078125F;
    double const slope = (above - weighted_output(in, mask)) / (high - static_cast<double>(value));
    value = kept;
    REQUIRE(std::abs(slope - gradient[i]) < 2e-5);
  }
}

TEST_CASE("gradients are the slopes of the output") {
  inputs const in(9, 2, 16, 3);
  for (attention_mask const& mask : {attention_mask::causal(), attention_mask::full(), attention_mask::window(3)}) {
    reference_result const result = reference_attention(in.problem(mask));
    check_gradient(in, &inputs::q, result.dq, mask);
    check_gradient(in, &inputs::k, result.dk, mask);
    check_gradient(in, &inputs::v, result.dv, mask);
  }
}

TEST_CASE("without output gradients there are no gradients") {
  inputs const in(4, 1, 8, 4);
  reference_problem problem = in.problem(attention_mask::causal());
  problem.d_o = {};
  reference_result const result = reference_attention(problem);
  CHECK(result.o.size() == 32);
  CHECK(result.dq.empty());
  CHECK(result.dk.empty());
  CHECK(result.dv.empty());
}

TEST_CASE("gradients start from the outputs that are given") {
  inputs const in(6, 2, 8, 7);
  reference_problem problem = in.problem(attention_mask::causal());
  reference_result const own = reference_attention(problem);
  std::vector<float> o(own.o.begin(), own.o.end());
  problem.o = {o.data(), 16, 8};
  reference_result const same = reference_attention(problem);
  for (std::size_t i = 0; i < own.dq.size(); ++i) {
    CHECK(same.dq[i] == doctest::Approx(own.dq[i]).epsilon(1e-4));
  }
  // The gradients of a row's scores add up to delta's difference: what it adds to dq is the mean key, that many times.
  std::size_t const at = in.query_at(0, 1);
  double const before = static_cast<double>(o[at]);
  o[at] += 0.5F;
  double const step = static_cast<double>(o[at]) - before;  // half, but for what fp32 cannot hold
  reference_result const other = reference_attention(problem);
  for (std::size_t c = 0; c < 8; ++c) {
    double const shift = 0.3 * step * static_cast<double>(in.d_o[at]) * static_cast<double>(in.k[c]);
    CHECK(other.dq[at + c] - same.dq[at + c] == doctest::Approx(-shift).epsilon(1e-9));
  }
  CHECK(other.o == own.o);
  CHECK(other.dv == own.dv);
}

TEST_CASE("an empty segment has empty results") {
  inputs const in(0, 1, 8, 5);
  CHECK(reference_attention(in.problem(attention_mask::full())).o.empty());
}

TEST_CASE("extents that cannot be computed are refused") {
  inputs const in(4, 1, 8, 6);
  reference_problem problem = in.problem(attention_mask::causal());
  problem.head_dim = 12;
  CHECK_THROWS_WITH_AS(static_cast<void>(reference_attention(problem)), "head_dim is 12, expected a multiple of 8",
                       libra::input_error);
}

}  // namespace
