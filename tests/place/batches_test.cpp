#include "support/printing.hpp"

#include <libra/place/batches.hpp>

#include <doctest/doctest.h>

#include <cstddef>

namespace {

using libra::layout;
using libra::packed_order;
using libra::placement;
using libra::pool_partition;

constexpr layout four_a_batch{.window_tokens = 10, .dp = 2, .cp = 1, .pool = 2, .micro_steps = 2};

TEST_CASE("whole global batches in packed order, the rest left out") {
  for (std::size_t sequences = 4; sequences < 20; ++sequences) {
    placement const placed = packed_order(sequences, four_a_batch, pool_partition{{0, 2}});
    CHECK(placed.dp == 2);
    CHECK(placed.micro_steps == 2);
    REQUIRE(placed.at.size() == sequences / 4 * 4);
    CHECK(placed.global_batches() == static_cast<std::int32_t>(sequences / 4));
    for (std::size_t s = 0; s < placed.at.size(); ++s) {
      CHECK(placed.at[s].index() == s);
    }
  }
}

TEST_CASE("less than one global batch is refused with both numbers") {
  CHECK_THROWS_WITH_AS(static_cast<void>(packed_order(3, four_a_batch, pool_partition{{0, 2}})),
                       "the list packs into 3 sequences, expected at least dp * micro_steps = 4", libra::input_error);
  CHECK_THROWS_AS(static_cast<void>(packed_order(0, four_a_batch, pool_partition{{0, 2}})), libra::input_error);
}

TEST_CASE("pools of another layout are refused") {
  CHECK_THROWS_WITH_AS(static_cast<void>(packed_order(8, four_a_batch, pool_partition{{0, 3}})),
                       "pools cover 3 slots, expected dp 2", libra::input_error);
  CHECK_THROWS_AS(static_cast<void>(packed_order(8, layout{.dp = 0}, pool_partition{})), libra::input_error);
}

}  // namespace
