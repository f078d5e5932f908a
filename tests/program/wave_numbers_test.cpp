#include <libra/program/wave_numbers.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace {

TEST_CASE("the steps of a wave's inputs follow one another, and share rounds with other waves'") {
  using namespace libra::detail;
  CHECK(near_round(1) == 0);
  for (std::int32_t wave = 1; wave <= 3; ++wave) {
    CHECK(network_round(wave) == near_round(wave) + 1);
    CHECK(sharing_round(wave) == network_round(wave) + 1);
    CHECK(passing_round(wave) == sharing_round(wave) + 1);
    CHECK(near_round(wave + 1) == network_round(wave));
    CHECK(wave_of_round(near_round(wave)) == wave);
  }
  CHECK(fetch_rounds(0) == 0);
  CHECK(fetch_rounds(2) == passing_round(2) + 1);
  // Nothing is needed before the last round that brings something for it, whatever is alive.
  CHECK(wave_of_round(passing_round(5)) - least_alive_waves < 5);
}

}  // namespace
