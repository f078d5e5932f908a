#include <libra/host/instruction_set.hpp>

#include <libra/core/error.hpp>

#include <doctest/doctest.h>

#include <string_view>

namespace {

TEST_CASE("the best instruction set is used unless another is named") {
  auto const all = libra::host::instruction_sets();
  REQUIRE(!all.empty());
  CHECK(libra::host::instruction_set() == all.front());
  for (std::string_view const name : all) {
    libra::host::use_instruction_set(name);
    CHECK(libra::host::instruction_set() == name);
    CHECK(libra::host::instruction_sets() == all);
  }
  libra::host::use_instruction_set(all.front());
  CHECK(libra::host::instruction_set() == all.front());
}

TEST_CASE("an unknown instruction set is refused") {
  CHECK_THROWS_AS(libra::host::use_instruction_set("MMX"), libra::input_error);
}

TEST_CASE("the peak of a core is some gigaflop per second") {
  CHECK(libra::host::measure_peak_flop_per_second() > 1e8);
}

}  // namespace
