#include "support/printing.hpp"

#include <libra/place/group_into_steps.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

using libra::bin;
using libra::sequence_id;

TEST_CASE("by hand: the heaviest pools of each size share the first step, equal ones keep their order") {
  std::vector<sequence_id> filled;
  for (std::int32_t s = 0; s < 6; ++s) {
    filled.emplace_back(s);
  }
  // Two steps of a pool of two slots and one of one.
  std::vector<bin> bins{{.first = 0, .slots = 2, .filled = 2, .load = 7},
                        {.first = 2, .slots = 1, .filled = 1, .load = 3},
                        {.first = 3, .slots = 2, .filled = 2, .load = 9},
                        {.first = 5, .slots = 1, .filled = 1, .load = 3}};
  std::vector<sequence_id> batch(6);
  group_into_steps(bins, filled, libra::pool_partition{{0, 2, 3}}, batch);
  std::vector<std::int32_t> numbers;
  for (sequence_id const s : batch) {
    numbers.push_back(s.value);
  }
  CHECK(numbers == std::vector<std::int32_t>{3, 4, 2, 0, 1, 5});
}

}  // namespace
