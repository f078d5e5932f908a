#include "cuda_double/control.hpp"
#include "cuda_double/launch.hpp"

#include <libra/cuda/memory.hpp>
#include <libra/cuda/stream.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace cuda = libra::cuda;

namespace {

constexpr std::uint64_t seeds = 100;

void enqueue(cuda::stream const& in, std::function<void()> work) {
  cuda::check(cuda_double::enqueue_kernel(in.ref().get(), {}, {}, 0, std::move(work)), "enqueue_kernel");
}

/// The order in which two streams' kernels ran; with `wait`, the second stream waits for the first one's first kernel.
std::string order(std::uint64_t seed, bool wait) {
  cuda_double::reset({.seed = seed});
  std::string ran;
  cuda::stream const a;
  cuda::stream const b;
  cuda::event const mark;
  enqueue(a, [&] { ran += '1'; });
  a.ref().record(mark);
  enqueue(a, [&] { ran += '2'; });
  if (wait) {
    b.ref().wait(mark);
  }
  enqueue(b, [&] { ran += 'x'; });
  enqueue(b, [&] { ran += 'y'; });
  a.ref().synchronize();
  b.ref().synchronize();
  CHECK(mark.reached());
  return ran;
}

}  // namespace

TEST_CASE("streams keep their order, and every order between streams comes up") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    std::string const ran = order(seed, false);
    CHECK(ran.find('1') < ran.find('2'));
    CHECK(ran.find('x') < ran.find('y'));
    seen.insert(ran);
  }
  CHECK(seen.size() == 6);
}

TEST_CASE("a wait for an event leaves the orders that it allows") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    seen.insert(order(seed, true));
  }
  CHECK(seen == std::set<std::string>{"12xy", "1x2y", "1xy2"});
}

TEST_CASE("waiting for an event that was never recorded is no wait") {
  cuda_double::reset({});
  cuda::stream const s;
  cuda::event const never;
  CHECK(never.reached());
  s.ref().wait(never);
  s.ref().synchronize();
}

TEST_CASE("a wait is for the last record before it, not for one that comes later") {
  cuda_double::reset({.seed = 4});
  cuda::stream const a;
  cuda::stream const b;
  cuda::event const mark;
  a.ref().record(mark);
  b.ref().wait(mark);
  a.ref().wait(mark);
  b.ref().synchronize();
  b.ref().record(mark);
  a.ref().synchronize();  // would never end if it waited for b's mark that waits for a
}

TEST_CASE("memory begins as NaN, and copies happen in the stream's order") {
  cuda_double::reset({.seed = 1});
  cuda::stream const s;
  cuda::arena const memory(4 * sizeof(float));
  std::vector<float> host(4, 1.0F);
  cuda::copy<float>(memory.as<float>(4), std::span(host), s);
  s.ref().synchronize();
  CHECK(host[0] != host[0]);
  std::vector<float> const numbers{1, 2, 3, 4};
  cuda::copy(std::span(numbers), memory.as<float>(4), s);
  cuda::copy<float>(memory.as<float>(4), std::span(host), s);
  s.ref().synchronize();
  CHECK(host == numbers);
}

TEST_CASE("planted: a copy beyond an allocation is found") {
  cuda_double::reset({});
  {
    cuda::stream const s;
    cuda::arena const memory(4 * sizeof(float));
    std::vector<float> const numbers(5);
    CHECK_THROWS_WITH(
        [&] {
          cuda::copy(std::span(numbers), memory.as<float>(5), s);
          s.ref().synchronize();
        }(),
        doctest::Contains("beyond device memory"));
  }
  cuda_double::reset({});
}

TEST_CASE("a kernel that no device could run makes later calls fail with what is wrong") {
  cuda_double::reset({});
  {
    cuda::stream const s;
    cuda::check(cuda_double::enqueue_kernel(s.ref().get(), {}, {64}, 0,
                                            [] {
                                              if (simt::thread_index().x > 0) {
                                                simt::block_barrier(std::source_location::current());
                                              }
                                            }),
                "enqueue_kernel");
    CHECK_THROWS_WITH_AS(s.ref().synchronize(), doctest::Contains("cudaErrorLaunchFailure"), cuda::error);
    CHECK(cuda_double::finding().find("has returned") != std::string::npos);
  }
  cuda_double::reset({});
}
