#include <libra/model/layout.hpp>

#include <libra/model/home.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace {

using libra::layout;

static_assert(std::is_trivially_copyable_v<layout>);

TEST_CASE("counts that follow from a layout") {
  layout const l{.window_tokens = 1000, .dp = 12, .cp = 6, .pool = 5, .micro_steps = 3};
  CHECK(l.ranks() == 72);
  CHECK(l.sequences_per_batch() == 36);
  CHECK(l.pools_per_step() == 3);
  CHECK(layout{.dp = 1, .cp = 1, .pool = 1}.pools_per_step() == 1);
  CHECK(layout{.dp = 8, .pool = 8}.pools_per_step() == 1);
  CHECK(layout{.dp = 9, .pool = 8}.pools_per_step() == 2);
  CHECK(layout{.dp = 9, .pool = 1}.pools_per_step() == 9);
}

TEST_CASE("the defaults are the command's") {
  CHECK(layout{} == layout{.window_tokens = 262144, .dp = 64, .cp = 8, .pool = 8, .micro_steps = 4});
  CHECK_NOTHROW(validate(layout{}));
}

void check_refused(layout const& l, char const* why) { CHECK_THROWS_WITH_AS(validate(l), why, libra::input_error); }

TEST_CASE("each extent is refused by name and value") {
  check_refused({.window_tokens = 0}, "window is 0 tokens, expected at least 1");
  check_refused({.window_tokens = -5}, "window is -5 tokens, expected at least 1");
  check_refused({.window_tokens = (std::int64_t{1} << 40) + 1},
                "window is 1099511627777 tokens, expected at most 1099511627776");
  check_refused({.dp = 0}, "dp is 0, expected at least 1");
  check_refused({.cp = 0}, "cp is 0, expected at least 1");
  check_refused({.pool = 0}, "pool is 0, expected at least 1");
  check_refused({.dp = 4, .pool = 5}, "pool is 5, expected at most dp 4");
  check_refused({.micro_steps = 0}, "micro_steps is 0, expected at least 1");
  CHECK_THROWS_AS(validate(layout{.dp = 1 << 20, .cp = 1 << 20}), libra::input_error);
  CHECK_THROWS_AS(validate(layout{.dp = 1 << 20, .micro_steps = 1 << 20}), libra::input_error);
  CHECK_THROWS_AS(validate(layout{.dp = std::numeric_limits<std::int32_t>::max(), .cp = 8}), libra::input_error);
}

TEST_CASE("layouts that do not divide are fine") {
  CHECK_NOTHROW(validate(layout{.window_tokens = 1000, .dp = 12, .cp = 7, .pool = 5, .micro_steps = 3}));
  CHECK_NOTHROW(validate(layout{.window_tokens = 1, .dp = 1, .cp = 8, .pool = 1, .micro_steps = 1}));
}

TEST_CASE("positions times ranks stay inside 64 bits in every layout that is accepted") {
  // The largest group that is accepted with the largest window.
  std::int32_t cp = 1;
  while (cp < (1 << 30)) {
    try {
      validate(layout{.window_tokens = std::int64_t{1} << 40, .dp = 1, .cp = cp * 2, .pool = 1, .micro_steps = 1});
    } catch (libra::input_error const&) {
      break;
    }
    cp *= 2;
  }
  CAPTURE(cp);
  CHECK(cp >= 1 << 16);
  CHECK(static_cast<libra::int128>(std::int64_t{1} << 40) * cp <= std::numeric_limits<std::int64_t>::max());
}

}  // namespace
