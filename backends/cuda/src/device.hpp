#pragma once

// What kernels are written in. Under nvcc these are the device's own instructions; elsewhere the emulator in tests/simt
// stands in for them, so that the same kernels run on a CPU. Nothing else differs between the two.

#include <cstddef>
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifdef __CUDACC__
#define LIBRA_DEVICE __device__ __forceinline__
#define LIBRA_KERNEL(threads) __global__ void __launch_bounds__(threads)
#define LIBRA_CALL_SITE
#define LIBRA_CALL_SITE_PASSED
#else
#include "simt/block.hpp"

#include <bit>
#include <cmath>
#include <source_location>

#define LIBRA_DEVICE inline
#define LIBRA_KERNEL(threads) inline void
// Barriers and warp operations are told apart by where they are called.
#define LIBRA_CALL_SITE , std::source_location at = std::source_location::current()
#define LIBRA_CALL_SITE_PASSED , at
#endif

namespace libra::cuda::device {

inline constexpr unsigned warp_threads = 32;

#ifdef __CUDACC__

LIBRA_DEVICE unsigned thread() { return threadIdx.x; }
LIBRA_DEVICE unsigned threads() { return blockDim.x; }
LIBRA_DEVICE unsigned block() { return blockIdx.x; }
LIBRA_DEVICE unsigned blocks() { return gridDim.x; }
LIBRA_DEVICE unsigned lane() { return threadIdx.x % warp_threads; }

/// The block's dynamic shared memory.
LIBRA_DEVICE std::byte* shared() {
  extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
  return reinterpret_cast<std::byte*>(dynamic_shared_memory);
}

LIBRA_DEVICE void block_barrier() { __syncthreads(); }
LIBRA_DEVICE void warp_barrier() { __syncwarp(); }
template <class T>
LIBRA_DEVICE T shuffle(T x, unsigned from) {
  return __shfl_sync(0xffffffffU, x, static_cast<int>(from));
}
template <class T>
LIBRA_DEVICE T shuffle_xor(T x, unsigned mask) {
  return __shfl_xor_sync(0xffffffffU, x, static_cast<int>(mask));
}
/// Bit l of the result tells what lane l passes.
LIBRA_DEVICE std::uint32_t ballot(bool x) { return __ballot_sync(0xffffffffU, x); }
LIBRA_DEVICE bool any(bool x) { return __any_sync(0xffffffffU, x) != 0; }
LIBRA_DEVICE bool all(bool x) { return __all_sync(0xffffffffU, x) != 0; }

/// One rounding, whatever the compiler would contract.
LIBRA_DEVICE float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
LIBRA_DEVICE float exp2(float x) { return ::exp2f(x); }
LIBRA_DEVICE float log2(float x) { return ::log2f(x); }
LIBRA_DEVICE float larger(float a, float b) { return ::fmaxf(a, b); }
LIBRA_DEVICE float smaller(float a, float b) { return ::fminf(a, b); }

LIBRA_DEVICE float warp_largest(float x) {
  for (unsigned mask = warp_threads / 2; mask > 0; mask /= 2) {
    x = larger(x, shuffle_xor(x, mask));
  }
  return x;
}
/// The sum over the warp, added as a balanced tree: the same bits in every lane.
LIBRA_DEVICE float warp_sum(float x) {
  for (unsigned mask = warp_threads / 2; mask > 0; mask /= 2) {
    x += shuffle_xor(x, mask);
  }
  return x;
}

#else

inline unsigned thread() { return simt::thread_index().x; }
inline unsigned threads() { return simt::block_extent().x; }
inline unsigned block() { return simt::block_index().x; }
inline unsigned blocks() { return simt::grid_extent().x; }
inline unsigned lane() { return simt::lane(); }
inline std::byte* shared() { return simt::shared_memory(); }

inline void block_barrier(std::source_location at = std::source_location::current()) { simt::block_barrier(at); }
inline void warp_barrier(std::source_location at = std::source_location::current()) { simt::warp_barrier(at); }
template <class T>
T shuffle(T x, unsigned from LIBRA_CALL_SITE) {
  return simt::exchange(x, at)[from % warp_threads];
}
template <class T>
T shuffle_xor(T x, unsigned mask LIBRA_CALL_SITE) {
  return simt::exchange(x, at)[(lane() ^ mask) % warp_threads];
}
inline std::uint32_t ballot(bool x LIBRA_CALL_SITE) {
  auto const votes = simt::exchange(x, at);
  std::uint32_t bits = 0;
  for (unsigned l = 0; l < warp_threads; ++l) {
    bits |= std::uint32_t{votes[l]} << l;
  }
  return bits;
}
inline bool any(bool x LIBRA_CALL_SITE) { return ballot(x LIBRA_CALL_SITE_PASSED) != 0; }
inline bool all(bool x LIBRA_CALL_SITE) { return ballot(x LIBRA_CALL_SITE_PASSED) == 0xffffffffU; }

// Two roundings: the emulator is built without contraction, and most CPUs it runs on would call a function for one.
inline float multiply_add(float a, float b, float c) { return a * b + c; }
inline float exp2(float x) { return std::exp2(x); }
inline float log2(float x) { return std::log2(x); }
inline float larger(float a, float b) { return std::fmax(a, b); }
inline float smaller(float a, float b) { return std::fmin(a, b); }

inline float warp_largest(float x LIBRA_CALL_SITE) {
  float result = x;
  for (float const other : simt::exchange(x, at)) {
    result = larger(result, other);
  }
  return result;
}
inline float warp_sum(float x LIBRA_CALL_SITE) {
  auto all = simt::exchange(x, at);
  for (unsigned half = warp_threads / 2; half > 0; half /= 2) {
    for (unsigned l = 0; l < half; ++l) {
      all[l] += all[l + half];
    }
  }
  return all[0];
}

#endif

LIBRA_DEVICE float to_float(float x) { return x; }
LIBRA_DEVICE float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
LIBRA_DEVICE float to_float(__half x) { return __half2float(x); }

/// Rounds to nearest, ties to even.
LIBRA_DEVICE void store(float* to, float x) { *to = x; }
LIBRA_DEVICE void store(__nv_bfloat16* to, float x) { *to = __float2bfloat16(x); }
LIBRA_DEVICE void store(__half* to, float x) { *to = __float2half(x); }

/// Sixteen bytes that are moved at once.
struct alignas(16) vector16 {
  std::uint32_t words[4];
};

}  // namespace libra::cuda::device
