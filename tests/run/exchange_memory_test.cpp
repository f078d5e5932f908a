#include <libra/run/exchange_memory.hpp>

#include <doctest/doctest.h>

using libra::rank_id;

TEST_CASE("a rank keeps the larger pass's workspace, and delta of its own rows") {
  libra::pool_plan plan;
  plan.batch.shape = {.q_heads = 6, .kv_heads = 3, .head_dim = 16, .mask = {}};
  plan.batch.home = {100, 2};
  plan.batch.slots = 1;
  plan.forward.ranks.resize(2);
  plan.backward.ranks.resize(2);
  plan.forward.ranks[0].workspace_bytes = 70;
  plan.backward.ranks[0].workspace_bytes = 90;
  plan.forward.ranks[1].workspace_bytes = 80;
  libra::exchange_memory const first = exchange_memory_of(plan, rank_id(0));
  CHECK(first.workspace_bytes == 90);
  CHECK(first.delta_bytes == 50 * 6 * 4);
  CHECK(first.bytes() == 90 + 1200);
  CHECK(exchange_memory_of(plan, rank_id(1)).workspace_bytes == 80);
}
