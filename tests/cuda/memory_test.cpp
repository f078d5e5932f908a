#include "cuda_double/control.hpp"

#include <libra/cuda/memory.hpp>
#include <libra/cuda/stream.hpp>

#include <doctest/doctest.h>

#include <span>
#include <type_traits>

namespace cuda = libra::cuda;

template <class Span>
concept readable_by_the_host =
    requires(Span s) { s[0]; } || requires(Span s) { *s; } || requires(Span s) { s.begin(); };
static_assert(readable_by_the_host<std::span<float>>);
static_assert(!readable_by_the_host<cuda::device_span<float>>);
static_assert(!std::is_convertible_v<cuda::device_span<float>, std::span<float>>);
static_assert(!std::is_convertible_v<cuda::device_span<float const>, cuda::device_span<float>>);
static_assert(std::is_convertible_v<cuda::device_span<float>, cuda::device_span<float const>>);

TEST_CASE("out of memory names the bytes asked for, what for, and what is free") {
  cuda_double::reset({.seed = 0, .devices = 1, .memory_bytes = 1000});
  {
    cuda::arena const most(600);
    CHECK_THROWS_WITH_AS(cuda::arena(500, "a plan's exchange memory"),
                         doctest::Contains("cudaMalloc of 500 bytes for a plan's exchange memory, of 1000 the device "
                                           "has 400 free failed: cudaErrorMemoryAllocation (out of memory)"),
                         cuda::error);
    cuda::stream const s;
    CHECK_THROWS_WITH_AS(cuda::device_buffer<float>(200, s), doctest::Contains("800 bytes"), cuda::error);
    cuda::arena const rest(400);
  }
  CHECK(cuda_double::objects_alive() == 0);
}

TEST_CASE("memory is freed once, by whoever holds it last") {
  cuda_double::reset({});
  {
    cuda::arena first(16);
    cuda::arena second = std::move(first);
    CHECK(first.data() == nullptr);
    CHECK(second.bytes() == 16);
    second = cuda::arena(32);
    cuda::stream const s;
    cuda::device_buffer<int> a(4, s);
    cuda::device_buffer<int> b = std::move(a);
    b = cuda::device_buffer<int>(8, s);
    CHECK(b.span().size_bytes() == 32);
    CHECK(cuda::arena(0).data() != nullptr);
    CHECK(cuda::device_buffer<int>(0, s).address() == nullptr);
  }
  CHECK(cuda_double::objects_alive() == 0);
  CHECK(cuda_double::finding() == "");
}

TEST_CASE("an error names the call, the error and the place") {
  cuda_double::reset({.seed = 0, .devices = 2});
  CHECK(cuda::device_count() == 2);
  CHECK_THROWS_WITH_AS(cuda::device_scope(2), doctest::Contains("cudaSetDevice failed: cudaErrorInvalidDevice"),
                       cuda::error);
  CHECK_THROWS_WITH_AS(cuda::device_scope(2), doctest::Contains("stream.hpp:"), libra::run_error);
  cuda_double::reset({.seed = 0, .devices = 0});
  CHECK(cuda::device_count() == 0);
  cuda_double::reset({});
}
