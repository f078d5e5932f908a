#include "matrix.hpp"
#include "simt/block.hpp"

#include <libra/core/random.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace device = libra::cuda::device;

namespace {

constexpr simt::extent3 one{};

template <class T>
std::vector<T> random_matrix(std::size_t size, std::uint64_t seed) {
  libra::random_bits bits(seed);
  std::vector<T> m(size);
  for (T& x : m) {
    x = static_cast<T>(static_cast<float>(bits.between(-64, 64)) / 16.0F);
  }
  return m;
}

/// A 16x16 times 16x8 product by one warp, its operands loaded as kernels load them.
template <class T, class Multiply>
std::vector<float> product(std::vector<T> const& a, std::vector<T> const& b, Multiply multiply) {
  std::vector<float> d(16 * 8, -1.0F);
  simt::launch({one, {32}, (16 * 16 + 16 * 8) * sizeof(T), 3}, [&] {
    auto* const shared_a = reinterpret_cast<T*>(device::shared());
    auto* const shared_b = shared_a + 16 * 16;
    unsigned const l = device::lane();
    for (unsigned i = 0; i < 16 * 16 * sizeof(T) / 16 / 32; ++i) {
      device::copy_async(shared_a + (i * 32 + l) * 8, a.data() + (i * 32 + l) * 8);
    }
    device::commit_copies();
    if (l < 16) {
      device::copy_async(shared_b + l * 8, b.data() + l * 8);
    }
    device::commit_copies();
    device::wait_copies<0>();
    device::block_barrier();
    std::uint32_t fragment_a[4];
    std::uint32_t fragment_b[4];
    // Rows 0-7 and 8-15 of the left half of a, then of the right half.
    device::load_matrices(fragment_a, shared_a + (l % 16) * 16 + l / 16 * 8);
    // b is stored by rows of k, and wanted by columns.
    device::load_matrices_transposed(fragment_b, shared_b + (l % 16) * 8);
    float sums[4]{};
    std::uint32_t const first_two[2]{fragment_b[0], fragment_b[1]};
    multiply(sums, fragment_a, first_two);
    for (unsigned i = 0; i < 4; ++i) {
      d[(l / 4 + 8 * (i / 2)) * 8 + l % 4 * 2 + i % 2] = sums[i];
    }
  });
  return d;
}

template <class T>
std::vector<float> expected_product(std::vector<T> const& a, std::vector<T> const& b) {
  std::vector<float> d(16 * 8);
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 8; ++j) {
      for (std::size_t k = 0; k < 16; ++k) {
        d[i * 8 + j] += static_cast<float>(a[i * 16 + k]) * static_cast<float>(b[k * 8 + j]);
      }
    }
  }
  return d;
}

}  // namespace

TEST_CASE("multiply, load and copy by fragments give the product of two matrices") {
  {
    auto const a = random_matrix<__nv_bfloat16>(16 * 16, 1);
    auto const b = random_matrix<__nv_bfloat16>(16 * 8, 2);
    CHECK(product(a, b, [](auto& d, auto& x, auto& y) { device::multiply_bf16(d, x, y); }) == expected_product(a, b));
  }
  {
    auto const a = random_matrix<__half>(16 * 16, 3);
    auto const b = random_matrix<__half>(16 * 8, 4);
    CHECK(product(a, b, [](auto& d, auto& x, auto& y) { device::multiply_fp16(d, x, y); }) == expected_product(a, b));
  }
}

TEST_CASE("planted: a copy that is read before it was waited for is not always there") {
  int early = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    alignas(16) std::array<float, 4> const source{1, 2, 3, 4};
    simt::launch({one, {1}, 16, seed}, [&] {
      auto* const shared = reinterpret_cast<float*>(device::shared());
      device::copy_async(shared, source.data());
      device::commit_copies();
      early += std::isnan(shared[0]);
      device::wait_copies<0>();
      CHECK(shared[3] == 4.0F);
    });
  }
  CHECK(early > 0);
}

TEST_CASE("waiting leaves as many groups on their way as it says") {
  int missing = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    alignas(16) std::array<float, 8> const source{1, 2, 3, 4, 5, 6, 7, 8};
    simt::launch({one, {1}, 32, seed}, [&] {
      auto* const shared = reinterpret_cast<float*>(device::shared());
      for (int i = 0; i < 2; ++i) {
        device::copy_async(shared + 4 * i, source.data() + 4 * i);
        device::commit_copies();
      }
      device::wait_copies<1>();
      CHECK(shared[0] == 1.0F);
      missing += std::isnan(shared[4]);
      device::wait_copies<0>();
      CHECK(shared[4] == 5.0F);
    });
  }
  CHECK(missing > 0);
}

TEST_CASE("votes and shuffles name lanes") {
  simt::launch({one, {32}, 0, 5}, [] {
    unsigned const l = device::lane();
    CHECK(device::ballot(l % 3 == 0) == 0x49249249U);
    CHECK(device::any(l == 31));
    CHECK_FALSE(device::any(l == 32));
    CHECK(device::all(l < 32));
    CHECK_FALSE(device::all(l != 7));
    CHECK(device::shuffle(l * 2, 5) == 10);
    CHECK(device::shuffle_xor(l, 3) == (l ^ 3U));
    CHECK(device::warp_sum(static_cast<float>(l)) == 496.0F);
    CHECK(device::warp_largest(-static_cast<float>(l)) == 0.0F);
    device::warp_barrier();
  });
}
