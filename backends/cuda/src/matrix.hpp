#pragma once

#include "device.hpp"

#ifndef __CUDACC__
#include <array>
#include <cstring>
#endif

// Warp-wide matrix instructions and asynchronous copies, and what they do element by element on the emulator.
// Source of the fragment layouts: PTX ISA 8, "Matrix Fragments for mma.m16n8k16" and "ldmatrix".

namespace libra::cuda::device {

/// Two 16-bit elements in one register, the first in the low half.
template <class T>
struct pair16 {
  T first;
  T second;
};

template <class T>
LIBRA_DEVICE std::uint32_t pack(T first, T second) {
  static_assert(sizeof(T) == 2);
#ifdef __CUDACC__
  pair16<T> const both{first, second};
  return *reinterpret_cast<std::uint32_t const*>(&both);
#else
  std::uint32_t bits = 0;
  std::memcpy(&bits, &first, 2);
  std::memcpy(reinterpret_cast<char*>(&bits) + 2, &second, 2);
  return bits;
#endif
}

#ifndef __CUDACC__
namespace detail {

template <class T>
[[nodiscard]] inline float half_of(std::uint32_t packed, unsigned which) {
  T x;
  std::memcpy(&x, reinterpret_cast<char const*>(&packed) + 2 * which, 2);
  return to_float(x);
}

/// `d += a * b` for a 16x16 `a`, a 16x8 `b` and a 16x8 `d`, spread over the warp.
template <class T>
void multiply_16x8x16(float (&d)[4], std::uint32_t const (&a)[4], std::uint32_t const (&b)[2],
                      std::source_location at) {
  struct fragment {
    std::array<std::uint32_t, 4> a;
    std::array<std::uint32_t, 2> b;
  };
  auto const warp = simt::exchange(fragment{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}}, at);
  unsigned const group = lane() / 4;
  unsigned const in_group = lane() % 4;
  for (unsigned i = 0; i < 4; ++i) {
    unsigned const row = group + 8 * (i / 2);
    unsigned const column = 2 * in_group + i % 2;
    for (unsigned k = 0; k < 16; ++k) {
      auto const& of_a = warp[row % 8 * 4 + k % 8 / 2].a;
      auto const& of_b = warp[column * 4 + k % 8 / 2].b;
      d[i] += half_of<T>(of_a[row / 8 + 2 * (k / 8)], k % 2) * half_of<T>(of_b[k / 8], k % 2);
    }
  }
}

/// Four 8x8 matrices of 16-bit elements; lane l passes the address of row l % 8 of matrix l / 8.
inline void load_4_matrices(std::uint32_t (&to)[4], void const* row, bool transposed, std::source_location at) {
  auto const rows = simt::exchange(row, at);
  unsigned const group = lane() / 4;
  unsigned const in_group = lane() % 4;
  for (unsigned m = 0; m < 4; ++m) {
    for (unsigned half = 0; half < 2; ++half) {
      unsigned const r = transposed ? 2 * in_group + half : group;
      unsigned const c = transposed ? group : 2 * in_group + half;
      std::memcpy(reinterpret_cast<char*>(&to[m]) + 2 * half, static_cast<char const*>(rows[8 * m + r]) + 2 * c, 2);
    }
  }
}

}  // namespace detail
#endif

/// `d += a * b` on the tensor cores: m16n8k16, fp32 sums.
///
/// Shape: `a` is `[16, 16]`, `b` is `[16, 8]`, `d` is `[16, 8]`, in fragments.
LIBRA_DEVICE void multiply_bf16(float (&d)[4], std::uint32_t const (&a)[4],
                                std::uint32_t const (&b)[2] LIBRA_CALL_SITE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  detail::multiply_16x8x16<__nv_bfloat16>(d, a, b LIBRA_CALL_SITE_PASSED);
#endif
}
LIBRA_DEVICE void multiply_fp16(float (&d)[4], std::uint32_t const (&a)[4],
                                std::uint32_t const (&b)[2] LIBRA_CALL_SITE) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  detail::multiply_16x8x16<__half>(d, a, b LIBRA_CALL_SITE_PASSED);
#endif
}

/// Loads four 8x8 matrices of 16-bit elements from shared memory into fragments.
///
/// Lane l passes the address, aligned to 16 bytes, of row l % 8 of matrix l / 8.
LIBRA_DEVICE void load_matrices(std::uint32_t (&to)[4], void const* row LIBRA_CALL_SITE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
#else
  detail::load_4_matrices(to, row, false LIBRA_CALL_SITE_PASSED);
#endif
}
LIBRA_DEVICE void load_matrices_transposed(std::uint32_t (&to)[4], void const* row LIBRA_CALL_SITE) {
#ifdef __CUDACC__
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
#else
  detail::load_4_matrices(to, row, true LIBRA_CALL_SITE_PASSED);
#endif
}

/// Begins to copy 16 bytes from global to shared memory; they are there after `wait_copies` and a barrier.
LIBRA_DEVICE void copy_async(void* to_shared, void const* from_global) {
#ifdef __CUDACC__
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to_shared))),
      "l"(from_global)
      : "memory");
#else
  simt::copy_async(to_shared, from_global, 16);
#endif
}
/// Makes the copies begun since the last call one group.
LIBRA_DEVICE void commit_copies() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;\n" ::: "memory");
#else
  simt::commit_copies();
#endif
}
/// Waits for all but this thread's last `Pending` groups.
template <unsigned Pending>
LIBRA_DEVICE void wait_copies() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;\n" ::"n"(Pending) : "memory");
#else
  simt::wait_copies(Pending);
#endif
}

}  // namespace libra::cuda::device
