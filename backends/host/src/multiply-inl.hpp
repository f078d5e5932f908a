// Products of small matrices that live in the buffers. Included once per instruction set.

#if defined(LIBRA_HOST_MULTIPLY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef LIBRA_HOST_MULTIPLY_INL
#undef LIBRA_HOST_MULTIPLY_INL
#else
#define LIBRA_HOST_MULTIPLY_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace libra::host::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using lanes = hn::ScalableTag<float>;
inline constexpr std::size_t lane_count = HWY_LANES(float);

// A register block is `row_block` rows times at most `vector_block` vectors: its accumulators, those vectors of b and
// one of a fill 32 or 16 registers. A squarer block loads fewer operands for every multiply-add.
inline constexpr bool many_registers = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM;  // better targets have lower numbers
inline constexpr std::size_t row_block = 6;
inline constexpr std::size_t vector_block = many_registers ? 4 : 2;
/// Row counts are rounded up to this, so the rows behind the last must be readable numbers.
inline constexpr std::size_t row_step = 2;
/// Columns that are computed together at least.
inline constexpr std::size_t column_step = lane_count > row_step ? lane_count : row_step;

/// How the operands of a product lie in memory: element (i, k) of a is `a[i * a_row + k * a_step]`, rows of b and c
/// are contiguous.
template <std::size_t ARow, std::size_t AStep, std::size_t BRow, std::size_t CRow>
struct product_layout {
  static constexpr std::size_t a_row = ARow;
  static constexpr std::size_t a_step = AStep;
  static constexpr std::size_t b_row = BRow;
  static constexpr std::size_t c_row = CRow;
};

/// One register block of `multiply`. Every element is one chain of `MulAdd` over ascending k, whatever the block's
/// extents: this is what makes results independent of how rows are grouped.
template <class Layout, bool Accumulate, std::size_t Rows, std::size_t Vectors>
HWY_INLINE void multiply_block(float const* HWY_RESTRICT a, float const* HWY_RESTRICT b, float* HWY_RESTRICT c,
                               std::size_t depth) {
  lanes const d;
  hn::Vec<lanes> sum[Rows][Vectors];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < Rows; ++i) {
#pragma GCC unroll 16
    for (std::size_t j = 0; j < Vectors; ++j) {
      sum[i][j] = Accumulate ? hn::Load(d, c + i * Layout::c_row + j * lane_count) : hn::Zero(d);
    }
  }
  for (std::size_t k = 0; k < depth; ++k) {
    hn::Vec<lanes> right[Vectors];
#pragma GCC unroll 16
    for (std::size_t j = 0; j < Vectors; ++j) {
      right[j] = hn::Load(d, b + k * Layout::b_row + j * lane_count);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < Rows; ++i) {
      auto const left = hn::Set(d, a[i * Layout::a_row + k * Layout::a_step]);
#pragma GCC unroll 16
      for (std::size_t j = 0; j < Vectors; ++j) {
        sum[i][j] = hn::MulAdd(left, right[j], sum[i][j]);
      }
    }
  }
#pragma GCC unroll 16
  for (std::size_t i = 0; i < Rows; ++i) {
#pragma GCC unroll 16
    for (std::size_t j = 0; j < Vectors; ++j) {
      hn::Store(sum[i][j], d, c + i * Layout::c_row + j * lane_count);
    }
  }
}

/// All rows of `Vectors` columns of vectors.
template <class Layout, bool Accumulate, std::size_t Vectors>
HWY_INLINE void multiply_columns(float const* a, float const* b, float* c, std::size_t rows, std::size_t depth) {
  static_assert(row_block == 3 * row_step);
  std::size_t i = 0;
  for (; i + 2 * row_step < rows; i += row_block) {
    multiply_block<Layout, Accumulate, row_block, Vectors>(a + i * Layout::a_row, b, c + i * Layout::c_row, depth);
  }
  if (i + row_step < rows) {
    multiply_block<Layout, Accumulate, 2 * row_step, Vectors>(a + i * Layout::a_row, b, c + i * Layout::c_row, depth);
  } else if (i < rows) {
    multiply_block<Layout, Accumulate, row_step, Vectors>(a + i * Layout::a_row, b, c + i * Layout::c_row, depth);
  }
}

/// `c = a b`, or `c += a b` with `Accumulate`: c is `[rows, columns]`, a `[rows, depth]`, b `[depth, columns]`.
///
/// Pre: `columns` is a multiple of `lane_count`; b and c are aligned to vectors; rows up to the next multiple of
/// `row_step` exist in a and c.
template <class Layout, bool Accumulate>
HWY_NOINLINE void multiply(float const* a, float const* b, float* c, std::size_t rows, std::size_t columns,
                           std::size_t depth) {
  for (std::size_t left = columns / lane_count; left > 0;) {
    // Five vectors are three and two, not four and one, which has too few accumulators to hide the latency.
    std::size_t const blocks = (left + vector_block - 1) / vector_block;
    std::size_t const vectors = (left + blocks - 1) / blocks;
    if (vectors == 1) {
      multiply_columns<Layout, Accumulate, 1>(a, b, c, rows, depth);
    } else if (vectors == 2) {
      multiply_columns<Layout, Accumulate, 2>(a, b, c, rows, depth);
    } else if constexpr (vector_block > 2) {
      if (vectors == 3) {
        multiply_columns<Layout, Accumulate, 3>(a, b, c, rows, depth);
      } else {
        multiply_columns<Layout, Accumulate, 4>(a, b, c, rows, depth);
      }
    }
    b += vectors * lane_count;
    c += vectors * lane_count;
    left -= vectors;
  }
}

}  // namespace libra::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
