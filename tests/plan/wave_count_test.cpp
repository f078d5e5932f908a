#include "support/printing.hpp"

#include <libra/cost/any_cost_model.hpp>
#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/cost/tabulated.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/plan/wave_count.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

using libra::wave_count;

constexpr libra::topology links{.node_latency_ps = 10'000, .network_latency_ps = 30'000};  // 50 ns a wave

TEST_CASE("the root of the pool's time over a wave's latencies") {
  // 80 us on 8 ranks: 10 us, 200 waves' latencies; and 8 us on 8, 20.
  CHECK(wave_count(80'000'000, 8, links) == 14);
  CHECK(wave_count(8'000'000, 8, links) == 4);
}

TEST_CASE("at least one, at most 32, also where links have no latency") {
  CHECK(wave_count(0, 8, links) == 1);
  CHECK(wave_count(1, 8, links) == 1);
  libra::topology const instant{.node_latency_ps = 0, .network_latency_ps = 0};
  CHECK(wave_count(80'000'000, 8, instant) == 32);
  CHECK(wave_count(libra::int128{1} << 120, 1, links) == 32);
}

TEST_CASE("what rows take through the ports of the busiest node") {
  // Two slots of two ranks, two ranks a node; one document of 100 tokens each, 1 head of 64.
  libra::pool_batch batch;
  batch.shape = {.q_heads = 1, .kv_heads = 1, .head_dim = 64};
  batch.home = {100, 2};
  batch.slots = 2;
  batch.segments = {{{libra::document_id(0), 0, 100}, libra::sequence_id(0), libra::slot_id(0), 0},
                    {{libra::document_id(1), 0, 100}, libra::sequence_id(1), libra::slot_id(1), 0}};
  libra::topology const wires{.ranks_per_node = 2, .network_bytes_per_second = 1'000'000};
  auto const tile_at = [](std::int32_t rank, std::int32_t segment, std::int64_t begin, std::int64_t end) {
    return libra::tile{libra::segment_id(segment), libra::rank_id(rank), 0, 1, begin, end};
  };
  using libra::crossing_ps;
  std::vector<libra::tile> const home{tile_at(0, 0, 0, 100), tile_at(2, 1, 0, 100)};
  CHECK(crossing_ps(batch, home, libra::pass::forward, wires) == 0);
  // 50 rows of 128 bytes of q, and 132 of o and lse coming back, through two ports: 3,300 us, by four ranks.
  std::vector<libra::tile> const moved{tile_at(0, 0, 0, 50), tile_at(3, 0, 50, 100), tile_at(2, 1, 0, 100)};
  CHECK(crossing_ps(batch, moved, libra::pass::forward, wires) == libra::int128{4} * 3'300'000'000);
  // Backward q, the gradient of o, lse and delta: 264 bytes.
  CHECK(crossing_ps(batch, moved, libra::pass::backward, wires) == libra::int128{4} * 6'600'000'000);
}

/// Waves of the forward pass of one document in two slots of two ranks, as the programs have them.
template <class Cost>
std::int32_t planned_waves(Cost cost, std::int64_t tokens) {
  libra::scheduler const plan(libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, libra::pooled{}, cost);
  libra::layout const l{.window_tokens = tokens, .dp = 2, .cp = 2, .pool = 2, .micro_steps = 1};
  auto const batch = plan.plan(std::vector<std::int64_t>(2, tokens), l);
  auto const pool = plan.draft_pool(batch, libra::micro_step_id(0), libra::pool_id(0));
  std::int32_t fixed = 0;
  for (std::int32_t waves = 1; waves <= 32 && fixed == 0; ++waves) {
    auto same = batch;
    same.options.waves = waves;
    if (plan.draft_pool(same, libra::micro_step_id(0), libra::pool_id(0)).forward == pool.forward) {
      fixed = waves;
    }
  }
  return fixed;
}

TEST_CASE("longer documents in more waves; without a time, as many as usual") {
  std::int32_t const few = planned_waves(libra::roofline{}, 1 << 13);
  std::int32_t const many = planned_waves(libra::roofline{}, 1 << 16);
  CHECK(few >= 1);
  CHECK(few < many);
  CHECK(planned_waves(libra::pair_count{}, 1 << 16) == libra::usual_waves);
}

TEST_CASE("a time is a time, however the model is held") {
  CHECK(planned_waves(libra::any_cost_model(libra::roofline{}), 1 << 16) == planned_waves(libra::roofline{}, 1 << 16));
  libra::tabulated const measured(libra::sample_blocks(libra::hopper_flash_attention, 128));
  CHECK(planned_waves(libra::any_cost_model(measured), 1 << 16) == planned_waves(measured, 1 << 16));
  CHECK(planned_waves(measured, 1 << 16) > libra::usual_waves);
}

}  // namespace
