#include "support/printing.hpp"

#include <libra/model/work.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace {

using libra::int128;
using libra::pass;
using libra::wide_work;
using libra::work;

constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

static_assert(std::is_trivially_copyable_v<work> && std::is_trivially_copyable_v<wide_work>);
static_assert(!std::is_convertible_v<wide_work, work>);

TEST_CASE("a pass names its half") {
  CHECK(work{2, 5}.of(pass::forward) == 2);
  CHECK(work{2, 5}.of(pass::backward) == 5);
  CHECK(wide_work{3, 4}.of(pass::forward) == 3);
  CHECK(wide_work{3, 4}.of(pass::backward) == 4);
  CHECK(wide_work{3, 4}.total() == 7);
}

TEST_CASE("a hundred thousand tiles of the largest work add up") {
  wide_work sum;
  for (int i = 0; i < 100'000; ++i) {
    sum += work{int64_max, int64_max};
  }
  CHECK(sum.forward == static_cast<int128>(int64_max) * 100'000);
  CHECK(sum == libra::scaled({int64_max, int64_max}, 100'000));
  CHECK(sum.total() == static_cast<int128>(int64_max) * 200'000);
}

TEST_CASE("sums beyond 128 bits are errors with both operands") {
  wide_work sum{libra::int128_max, 0};
  CHECK_THROWS_WITH_AS((sum += work{1, 0}), "sum of 170141183460469231731687303715884105727 and 1 exceeds 128 bits",
                       libra::range_error);
  CHECK_THROWS_AS((sum += wide_work{1, 0}), libra::range_error);
  CHECK_THROWS_AS(static_cast<void>(wide_work{libra::int128_max, 1}.total()), libra::range_error);
  wide_work other{0, libra::int128_max};
  CHECK_THROWS_AS((other += work{0, 1}), libra::range_error);
  CHECK_THROWS_AS((other += wide_work{0, 1}), libra::range_error);
}

TEST_CASE("scaling multiplies both halves") {
  CHECK(libra::scaled({2, 5}, 0) == wide_work{});
  CHECK(libra::scaled({2, 5}, 7) == wide_work{14, 35});
}

}  // namespace
