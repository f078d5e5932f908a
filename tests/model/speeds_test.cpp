#include <libra/model/speeds.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace {

using speed_list = std::vector<std::int32_t>;

TEST_CASE("no list stands for ranks of speed 1") {
  CHECK(libra::all_speeds_one({}));
  CHECK(libra::sum_of_speeds({}, 3) == 3000);
  CHECK(libra::slowest_speed({}) == 1000);
  CHECK(libra::all_speeds_one(std::array{1000, 1000}));
  CHECK_FALSE(libra::all_speeds_one(std::array{1000, 999}));
}

TEST_CASE("sum and slowest of a list") {
  std::array const speeds{1000, 250, 1500};
  CHECK(libra::sum_of_speeds(speeds, 3) == 2750);
  CHECK(libra::slowest_speed(speeds) == 250);
}

TEST_CASE("work takes longer on a slow rank, rounded up") {
  CHECK(libra::at_speed(7, 1000) == 7);
  CHECK(libra::at_speed(7, 500) == 14);
  CHECK(libra::at_speed(7, 3000) == 3);
  CHECK(libra::at_speed(0, 1) == 0);
  CHECK(libra::at_speed(libra::int128{1} << 100, 1) == 1000 * (libra::int128{1} << 100));
}

TEST_CASE("speeds that cannot be used are named with their rank") {
  CHECK_NOTHROW(libra::validate_speeds({}, 5));
  CHECK_NOTHROW(libra::validate_speeds(speed_list{1, 1'000'000}, 2));
  CHECK_THROWS_WITH_AS(libra::validate_speeds(speed_list{1000}, 2), "there are 1 speeds, expected 2, one a rank",
                       libra::input_error);
  CHECK_THROWS_WITH_AS(libra::validate_speeds(speed_list{1000, 0}, 2),
                       "speed of rank 1 is 0 thousandths, expected 1 to 1000000", libra::input_error);
  CHECK_THROWS_WITH_AS(libra::validate_speeds(speed_list{1'000'001, 1}, 2),
                       "speed of rank 0 is 1000001 thousandths, expected 1 to 1000000", libra::input_error);
}

}  // namespace
