#include "support/placing.hpp"
#include "support/printing.hpp"

#include <libra/place/snake.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using libra::sequence_id;
using libra::snake;

static_assert(std::is_trivially_copyable_v<snake>);

std::vector<std::int32_t> numbers(libra::placement const& placed) {
  std::vector<std::int32_t> all;
  for (sequence_id const s : placed.at) {
    all.push_back(s.value);
  }
  return all;
}

TEST_CASE("by hand: forth and back over the pools, the heaviest in the first step") {
  libra::test::placing p;
  p.layout = {.window_tokens = 10, .dp = 4, .cp = 1, .pool = 2, .micro_steps = 2};
  p.pools = libra::pool_partition{{0, 2, 4}};
  p.work = {1, 8, 2, 7, 3, 6, 4, 5};
  // 8 | 7, 6 back to the second pool, 5 to the first; then 4 | 3, 2, 1.
  CHECK(numbers(snake{}(p.work, p.layout, p.pools)) == std::vector<std::int32_t>{1, 7, 3, 5, 6, 0, 4, 2});
}

TEST_CASE("by hand: a full pool is skipped, equal sequences go by number") {
  libra::test::placing p;
  p.layout = {.window_tokens = 10, .dp = 5, .cp = 1, .pool = 3, .micro_steps = 1};
  p.pools = libra::pool_partition{{0, 3, 5}};
  p.work = {5, 5, 5, 5, 5};
  CHECK(numbers(snake{}(p.work, p.layout, p.pools)) == std::vector<std::int32_t>{0, 3, 4, 1, 2});
}

}  // namespace
