#include "support/printing.hpp"

#include <libra/model/placement.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

namespace {

using libra::micro_step_id;
using libra::placement;
using libra::pool_id;
using libra::pool_partition;
using libra::sequence_id;

static_assert(std::is_trivially_copyable_v<libra::slot_ref>);

TEST_CASE("a partition tells the pools' slots") {
  pool_partition const pools{{0, 3, 5, 7}};
  CHECK(pools.size() == 3);
  CHECK(pools.dp() == 7);
  CHECK(pools.largest() == 3);
  CHECK(pools.first_slot(pool_id(1)) == 3);
  CHECK(pools.slots(pool_id(0)) == 3);
  CHECK(pools.slots(pool_id(2)) == 2);
  pool_partition const none;
  CHECK(none.size() == 0);
  CHECK(none.dp() == 0);
  CHECK(none.largest() == 0);
}

TEST_CASE("a placement is sliced by micro-step and pool") {
  pool_partition const pools{{0, 2, 3}};
  placement placed{.dp = 3, .micro_steps = 2, .at = {}};
  for (std::int32_t s = 11; s >= 0; --s) {
    placed.at.emplace_back(s);
  }
  CHECK(placed.steps() == 4);
  CHECK(placed.global_batches() == 2);
  auto const is = [](std::span<sequence_id const> slots, std::initializer_list<std::int32_t> expected) {
    return std::ranges::equal(slots, expected, {}, &sequence_id::value);
  };
  CHECK(is(placed.step(micro_step_id(0)), {11, 10, 9}));
  CHECK(is(placed.step(micro_step_id(3)), {2, 1, 0}));
  CHECK(is(placed.pool(micro_step_id(1), pool_id(0), pools), {8, 7}));
  CHECK(is(placed.pool(micro_step_id(1), pool_id(1), pools), {6}));
}

TEST_CASE("an empty placement has no steps") {
  CHECK(placement{}.steps() == 0);
  CHECK(placement{}.global_batches() == 0);
  CHECK(placement{.dp = 4, .micro_steps = 2, .at = {}}.global_batches() == 0);
}

TEST_CASE("slots are ordered by micro-step, pool, slot") {
  using libra::slot_id;
  libra::slot_ref const a{micro_step_id(1), pool_id(2), slot_id(3)};
  CHECK(a < libra::slot_ref{micro_step_id(2), pool_id(0), slot_id(0)});
  CHECK(a < libra::slot_ref{micro_step_id(1), pool_id(3), slot_id(0)});
  CHECK(a < libra::slot_ref{micro_step_id(1), pool_id(2), slot_id(4)});
}

}  // namespace
