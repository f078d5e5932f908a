#include <libra/core/error.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace {

// Callers that know only the standard library catch these; those that know libra catch libra::error.
static_assert(std::is_base_of_v<std::invalid_argument, libra::input_error>);
static_assert(std::is_base_of_v<std::overflow_error, libra::range_error>);
static_assert(std::is_base_of_v<std::runtime_error, libra::run_error>);
static_assert(!std::is_base_of_v<std::exception, libra::error>);  // else `catch (std::exception&)` is ambiguous
static_assert(!std::is_convertible_v<std::string, libra::input_error>);

template <class Error>
void check_caught_as_both() {
  try {
    throw Error("pool is 9");
  } catch (libra::error const& e) {
    CHECK(std::string_view(e.message()) == "pool is 9");
  }
  try {
    throw Error("pool is 9");
  } catch (std::exception const& e) {
    CHECK(std::string_view(e.what()) == "pool is 9");
  }
}

TEST_CASE("every error is caught as libra::error and as a standard exception") {
  check_caught_as_both<libra::input_error>();
  check_caught_as_both<libra::range_error>();
  check_caught_as_both<libra::run_error>();
}

TEST_CASE("messages join text and integers of any width") {
  CHECK(libra::message() == "");
  CHECK(libra::message("a", std::string("b"), std::string_view("c"), 'd') == "abcd");
  CHECK(libra::message(std::int8_t{-8}, ' ', std::uint8_t{200}, ' ', 3U, ' ', -4L, ' ', 5ULL) == "-8 200 3 -4 5");
  CHECK(libra::message(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(libra::message(libra::int128_min) == "-170141183460469231731687303715884105728");
}

TEST_CASE("require throws input_error with the joined parts, only when it does not hold") {
  CHECK_NOTHROW(libra::require(true, "never seen"));
  CHECK_THROWS_WITH_AS(libra::require(false, "dp is ", 0, ", expected at least ", 1), "dp is 0, expected at least 1",
                       libra::input_error);
}

}  // namespace
