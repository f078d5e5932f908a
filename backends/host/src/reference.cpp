#include "targets.hpp"

#include <libra/core/error.hpp>
#include <libra/host/reference.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reference.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#ifndef LIBRA_HOST_REFERENCE_PRODUCT
#define LIBRA_HOST_REFERENCE_PRODUCT
namespace libra::host::detail {

/// `c += a b`. Element (i, k) of a is `a[i * a_row + k * a_step]`; rows of b and c are contiguous.
/// Shape: a `[rows, depth]`, b `[depth, columns]`, c `[rows, columns]`, `columns` a multiple of 8.
struct product {
  double const* a;
  std::size_t a_row;
  std::size_t a_step;
  double const* b;
  std::size_t b_row;
  double* c;
  std::size_t c_row;
  std::size_t rows;
  std::size_t columns;
  std::size_t depth;
};

}  // namespace libra::host::detail
#endif

HWY_BEFORE_NAMESPACE();
namespace libra::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// `Rows` rows of c times eight columns.
template <std::size_t Rows>
HWY_INLINE void add_eight_columns(detail::product const& p, std::size_t row, std::size_t column) {
  hn::CappedTag<double, 8> const d;
  constexpr std::size_t lanes = HWY_MIN(HWY_LANES(double), 8);
  constexpr std::size_t vectors = 8 / lanes;
  hn::Vec<decltype(d)> sum[Rows][vectors];
  for (std::size_t i = 0; i < Rows; ++i) {
    for (std::size_t j = 0; j < vectors; ++j) {
      sum[i][j] = hn::LoadU(d, p.c + (row + i) * p.c_row + column + j * lanes);
    }
  }
  for (std::size_t k = 0; k < p.depth; ++k) {
    double const* const right = p.b + k * p.b_row + column;
    for (std::size_t i = 0; i < Rows; ++i) {
      auto const left = hn::Set(d, p.a[(row + i) * p.a_row + k * p.a_step]);
      for (std::size_t j = 0; j < vectors; ++j) {
        sum[i][j] = hn::MulAdd(left, hn::LoadU(d, right + j * lanes), sum[i][j]);
      }
    }
  }
  for (std::size_t i = 0; i < Rows; ++i) {
    for (std::size_t j = 0; j < vectors; ++j) {
      hn::StoreU(sum[i][j], d, p.c + (row + i) * p.c_row + column + j * lanes);
    }
  }
}

void add_product(detail::product const& p) {
  for (std::size_t column = 0; column < p.columns; column += 8) {
    std::size_t row = 0;
    for (; row + 8 <= p.rows; row += 8) {
      add_eight_columns<8>(p, row, column);
    }
    for (; row < p.rows; ++row) {
      add_eight_columns<1>(p, row, column);
    }
  }
}

}  // namespace libra::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace libra::host {

namespace {

HWY_EXPORT(add_product);

constexpr std::size_t keys_per_block = 128;
constexpr std::size_t rows_per_block = 64;

/// `[length, head_dim]` of one head in double precision, behind it zero rows up to a whole number of key blocks.
std::vector<double> widen(head_rows<float const> const& source, std::int64_t head, std::int64_t length,
                          std::size_t head_dim) {
  std::size_t const blocks = (static_cast<std::size_t>(length) + keys_per_block - 1) / keys_per_block;
  std::vector<double> rows(blocks * keys_per_block * head_dim);
  for (std::int64_t i = 0; i < length; ++i) {
    std::copy_n(source.at(i, head), head_dim, rows.data() + static_cast<std::size_t>(i) * head_dim);
  }
  return rows;
}

/// Every key block of `rows` transposed: `[blocks, head_dim, keys_per_block]`.
std::vector<double> transpose_blocks(std::span<double const> rows, std::size_t head_dim) {
  std::vector<double> columns(rows.size());
  for (std::size_t i = 0; i * head_dim < rows.size(); ++i) {
    double* const block = columns.data() + i / keys_per_block * keys_per_block * head_dim;
    for (std::size_t c = 0; c < head_dim; ++c) {
      block[c * keys_per_block + i % keys_per_block] = rows[i * head_dim + c];
    }
  }
  return columns;
}

/// One key/value head in the forms that the products want, and its gradients.
struct key_head {
  std::vector<double> k;
  std::vector<double> v;
  std::vector<double> k_transposed;
  std::vector<double> v_transposed;
  std::vector<double> dk;
  std::vector<double> dv;
};

/// Rows `[begin, end)` of one query head, row-major, and what is computed for them.
struct query_block {
  std::int64_t begin{};
  std::int64_t end{};
  double const* q{};
  double const* d_o{};
  double const* given_o{};    ///< null where the gradients start from `o`
  std::size_t first_block{};  // of the keys that the rows see
  std::size_t last_block{};
  std::size_t p_row{};
  std::vector<double> p{};    // [rows_per_block, p_row]: scores, then probabilities
  std::vector<double> ds{};   // [rows_per_block, keys_per_block]: gradients of one key block's scores
  std::vector<double> o{};    // [rows_per_block, head_dim]
  std::vector<double> dq{};   // [rows_per_block, head_dim]
  std::vector<double> lse{};  // [rows_per_block]

  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(end - begin); }
};

/// Turns scores into probabilities: zero where the mask hides the key.
void softmax(reference_problem const& problem, query_block& b) {
  for (std::size_t i = 0; i < b.rows(); ++i) {
    row_range const seen = problem.mask.visible(b.begin + static_cast<std::int64_t>(i), problem.length);
    std::span const row(b.p.data() + i * b.p_row, b.p_row);
    auto const visible = row.subspan(static_cast<std::size_t>(seen.begin), static_cast<std::size_t>(seen.size()));
    for (double& score : visible) {
      score *= problem.scale;
    }
    double const largest = *std::ranges::max_element(visible);
    double total = 0;
    for (double& score : visible) {
      score = std::exp(score - largest);
      total += score;
    }
    for (double& p : visible) {
      p /= total;
    }
    std::ranges::fill(row.first(static_cast<std::size_t>(seen.begin)), 0.0);
    std::ranges::fill(row.subspan(static_cast<std::size_t>(seen.end)), 0.0);
    b.lse[i] = largest + std::log(total);
  }
}

void forward(reference_problem const& problem, key_head const& keys, query_block& b) {
  auto const dim = static_cast<std::size_t>(problem.head_dim);
  auto const multiply_add = HWY_DYNAMIC_DISPATCH(add_product);
  std::ranges::fill(b.p, 0.0);
  for (std::size_t block = b.first_block; block < b.last_block; ++block) {
    multiply_add({b.q, dim, 1, keys.k_transposed.data() + block * keys_per_block * dim, keys_per_block,
                  b.p.data() + block * keys_per_block, b.p_row, b.rows(), keys_per_block, dim});
  }
  softmax(problem, b);
  std::ranges::fill(b.o, 0.0);
  for (std::size_t block = b.first_block; block < b.last_block; ++block) {
    std::size_t const at = block * keys_per_block;
    multiply_add(
        {b.p.data() + at, b.p_row, 1, keys.v.data() + at * dim, dim, b.o.data(), dim, b.rows(), dim, keys_per_block});
  }
}

void backward(reference_problem const& problem, key_head& keys, query_block& b) {
  auto const dim = static_cast<std::size_t>(problem.head_dim);
  auto const multiply_add = HWY_DYNAMIC_DISPATCH(add_product);
  std::vector<double> delta(b.rows());
  for (std::size_t i = 0; i < b.rows() * dim; ++i) {
    delta[i / dim] += b.d_o[i] * (b.given_o == nullptr ? b.o[i] : b.given_o[i]);
  }
  std::ranges::fill(b.dq, 0.0);
  for (std::size_t block = b.first_block; block < b.last_block; ++block) {
    std::size_t const at = block * keys_per_block;
    std::ranges::fill(b.ds, 0.0);
    multiply_add({b.d_o, dim, 1, keys.v_transposed.data() + at * dim, keys_per_block, b.ds.data(), keys_per_block,
                  b.rows(), keys_per_block, dim});
    for (std::size_t i = 0; i < b.rows(); ++i) {
      for (std::size_t j = 0; j < keys_per_block; ++j) {
        double& ds = b.ds[i * keys_per_block + j];
        ds = b.p[i * b.p_row + at + j] * (ds - delta[i]) * problem.scale;
      }
    }
    multiply_add({b.ds.data(), keys_per_block, 1, keys.k.data() + at * dim, dim, b.dq.data(), dim, b.rows(), dim,
                  keys_per_block});
    multiply_add(
        {b.ds.data(), 1, keys_per_block, b.q, dim, keys.dk.data() + at * dim, dim, keys_per_block, dim, b.rows()});
    multiply_add(
        {b.p.data() + at, 1, b.p_row, b.d_o, dim, keys.dv.data() + at * dim, dim, keys_per_block, dim, b.rows()});
  }
}

/// Copies a block's rows to where they belong in `[length, heads, row_size]`.
void scatter(std::span<double const> rows, query_block const& b, std::int64_t head, std::int64_t heads,
             std::size_t row_size, std::vector<double>& into) {
  for (std::size_t i = 0; i < b.rows(); ++i) {
    auto const row = static_cast<std::size_t>((b.begin + static_cast<std::int64_t>(i)) * heads + head);
    std::copy_n(rows.data() + i * row_size, row_size, into.data() + row * row_size);
  }
}

}  // namespace

reference_result reference_attention(reference_problem const& problem) {
  auto const& [length, heads, head_dim, mask, scale, q, k, v, d_o, given_o] = problem;
  require(length >= 0 && heads >= 1, "segment is [", length, ", ", heads, "], expected at least [0, 1]");
  require(head_dim >= 8 && head_dim % 8 == 0, "head_dim is ", head_dim, ", expected a multiple of 8");
  auto const dim = static_cast<std::size_t>(head_dim);
  auto const rows = static_cast<std::size_t>(length) * static_cast<std::size_t>(heads);
  bool const gradients = d_o.data != nullptr;

  key_head keys{widen(k, 0, length, dim), widen(v, 0, length, dim), {}, {}, {}, {}};
  keys.k_transposed = transpose_blocks(keys.k, dim);
  keys.v_transposed = transpose_blocks(keys.v, dim);
  reference_result result{std::vector<double>(rows * dim), std::vector<double>(rows), {}, {}, {}};
  if (gradients) {
    result.dq.resize(rows * dim);
    keys.dk.resize(keys.k.size());
    keys.dv.resize(keys.v.size());
  }

  // Eight columns more, so that the rows do not fall into the same few cache sets.
  query_block b{.p_row = keys.k.size() / dim + 8};
  b.p.resize(rows_per_block * b.p_row);
  b.ds.resize(rows_per_block * keys_per_block);
  b.o.resize(rows_per_block * dim);
  b.dq.resize(rows_per_block * dim);
  b.lse.resize(rows_per_block);
  for (std::int64_t head = 0; head < heads; ++head) {
    auto const queries = widen(q, head, length, dim);
    auto const output_gradients = gradients ? widen(d_o, head, length, dim) : std::vector<double>{};
    bool const given = gradients && given_o.data != nullptr;
    auto const outputs = given ? widen(given_o, head, length, dim) : std::vector<double>{};
    for (b.begin = 0; b.begin < length; b.begin = b.end) {
      b.end = std::min(b.begin + static_cast<std::int64_t>(rows_per_block), length);
      row_range const seen = mask.span(b.begin, b.end, length);
      b.first_block = static_cast<std::size_t>(seen.begin) / keys_per_block;
      b.last_block = (static_cast<std::size_t>(seen.end) + keys_per_block - 1) / keys_per_block;
      b.q = queries.data() + static_cast<std::size_t>(b.begin) * dim;
      forward(problem, keys, b);
      scatter(b.o, b, head, heads, dim, result.o);
      scatter(b.lse, b, head, heads, 1, result.lse);
      if (gradients) {
        b.d_o = output_gradients.data() + static_cast<std::size_t>(b.begin) * dim;
        b.given_o = given ? outputs.data() + static_cast<std::size_t>(b.begin) * dim : nullptr;
        backward(problem, keys, b);
        scatter(b.dq, b, head, heads, dim, result.dq);
      }
    }
  }
  keys.dk.resize(gradients ? static_cast<std::size_t>(length) * dim : 0);
  keys.dv.resize(keys.dk.size());
  result.dk = std::move(keys.dk);
  result.dv = std::move(keys.dv);
  return result;
}

}  // namespace libra::host
#endif
