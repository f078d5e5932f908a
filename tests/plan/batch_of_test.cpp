#include "support/printing.hpp"

#include <libra/plan/batch_of.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace {

using libra::batch_plan;
using libra::document_id;
using libra::micro_step_id;
using libra::pool_batch;
using libra::pool_id;
using libra::segment;
using libra::sequence_id;
using libra::slot_id;

/// Three slots in pools of two and one, two micro-steps, of which the second is placed backwards.
batch_plan six_sequences() {
  batch_plan plan;
  plan.layout = {.window_tokens = 10, .dp = 3, .cp = 2, .pool = 2, .micro_steps = 2};
  plan.options.shape.head_dim = 64;
  for (std::int64_t s = 0; s < 6; ++s) {
    plan.packing.sequences.push_row(
        std::array{segment{document_id(2 * s), 0, 4}, segment{document_id(2 * s + 1), 7, 3}});
  }
  plan.pools.begin = {0, 2, 3};
  plan.placement.dp = 3;
  plan.placement.micro_steps = 2;
  for (std::int32_t const s : {0, 1, 2, 5, 4, 3}) {
    plan.placement.at.emplace_back(s);
  }
  return plan;
}

TEST_CASE("a pool's batch holds its slots' segments and where they lie") {
  pool_batch const batch = batch_of(six_sequences(), micro_step_id(1), pool_id(0));
  CHECK(batch.slots == 2);
  CHECK(batch.first_rank == 0);
  CHECK(batch.home == libra::home_layout{10, 2});
  CHECK(batch.shape.head_dim == 64);
  REQUIRE(batch.segments.size() == 4);
  CHECK(batch.segments[0] == libra::placed_segment{{document_id(10), 0, 4}, sequence_id(5), slot_id(0), 0});
  CHECK(batch.segments[1] == libra::placed_segment{{document_id(11), 7, 3}, sequence_id(5), slot_id(0), 4});
  CHECK(batch.segments[2] == libra::placed_segment{{document_id(8), 0, 4}, sequence_id(4), slot_id(1), 0});
  CHECK(batch.segments[3] == libra::placed_segment{{document_id(9), 7, 3}, sequence_id(4), slot_id(1), 4});
}

TEST_CASE("later pools begin at later ranks of the job") {
  pool_batch const batch = batch_of(six_sequences(), micro_step_id(0), pool_id(1));
  CHECK(batch.slots == 1);
  CHECK(batch.first_rank == 4);
  CHECK(batch.ranks() == 2);
  REQUIRE(batch.segments.size() == 2);
  CHECK(batch.segments[0].sequence == sequence_id(2));
  CHECK(batch.segments[0].slot == slot_id(0));
}

TEST_CASE("micro-steps and pools that there are not") {
  batch_plan const plan = six_sequences();
  auto const refused = [&](std::int32_t m, std::int32_t g, char const* why) {
    CHECK_THROWS_WITH_AS(static_cast<void>(batch_of(plan, micro_step_id(m), pool_id(g))), why, libra::input_error);
  };
  refused(2, 0, "micro-step is 2, expected 0 to 1");
  refused(-1, 0, "micro-step is -1, expected 0 to 1");
  refused(0, 2, "pool is 2, expected 0 to 1");
  refused(0, -1, "pool is -1, expected 0 to 1");
}

TEST_CASE("a pool has the speeds of its ranks, if they are not all 1") {
  batch_plan plan = six_sequences();
  CHECK(batch_of(plan, micro_step_id(0), pool_id(1)).speeds_permille.empty());
  plan.options.speeds_permille = {1000, 1000, 1000, 1000, 700, 900};
  CHECK(batch_of(plan, micro_step_id(0), pool_id(0)).speeds_permille.empty());
  CHECK(batch_of(plan, micro_step_id(1), pool_id(1)).speeds_permille == std::vector<std::int32_t>{700, 900});
}

}  // namespace
