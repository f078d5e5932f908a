#include <libra/run/progress.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <type_traits>

namespace {

using libra::progress_hook;

// Kernels take it by value, in the middle of their loops.
static_assert(std::is_trivially_copyable_v<progress_hook>);
static_assert(sizeof(progress_hook) == 2 * sizeof(void*));

TEST_CASE("a hook without a function does nothing") { CHECK_NOTHROW(progress_hook()()); }

TEST_CASE("a hook and its copies call the function that it was made for, with its state") {
  int calls = 0;
  auto count = [&calls] { ++calls; };
  progress_hook const hook(count);
  progress_hook const copy = hook;
  hook();
  copy();
  CHECK(calls == 2);
  struct counter {
    int calls{};
    void operator()() { ++calls; }
  } counts;
  progress_hook const other(counts);
  other();
  CHECK(counts.calls == 1);
}

TEST_CASE("what the function throws comes out of the call") {
  auto fails = [] { throw std::domain_error("another rank failed"); };
  progress_hook const hook(fails);
  CHECK_THROWS_WITH_AS(hook(), "another rank failed", std::domain_error);
}

}  // namespace
