#include "support/printing.hpp"

#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/plan/wave_count.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace {

using libra::pass;
using libra::pool_batch;
using libra::wave_count;

/// A document of so many tokens in a pool of eight ranks.
pool_batch one_document(std::int64_t tokens) {
  return {.shape = {.q_heads = 32, .kv_heads = 4, .head_dim = 128, .mask = libra::attention_mask::causal()},
          .home = {1 << 18, 8},
          .slots = 1,
          .first_rank = 0,
          .segments = {{{libra::document_id(0), 0, tokens}, libra::sequence_id(0), libra::slot_id(0), 0}}};
}

/// Work is a time, the same for every tile.
struct fixed_time {
  std::int64_t forward_ps{};
  std::int64_t backward_ps{};
  static constexpr bool counts_picoseconds() { return true; }
  libra::work operator()(libra::tile_shape const&) const { return {forward_ps, backward_ps}; }
};

constexpr libra::topology links{.node_latency_ps = 10'000, .network_latency_ps = 30'000};  // 50 ns a wave

TEST_CASE("the root of the pool's time over a wave's latencies") {
  // 4 heads of 20 us on 8 ranks: 10 us, 200 waves' latencies; and 1 us, 20.
  CHECK(wave_count(one_document(4096), fixed_time{20'000'000, 2'000'000}, links, pass::forward) == 14);
  CHECK(wave_count(one_document(4096), fixed_time{20'000'000, 2'000'000}, links, pass::backward) == 4);
}

TEST_CASE("at least one, at most 32, also where links have no latency") {
  CHECK(wave_count(one_document(1), fixed_time{0, 1}, links, pass::forward) == 1);
  CHECK(wave_count(one_document(1), fixed_time{0, 1}, links, pass::backward) == 1);
  libra::topology const instant{.node_latency_ps = 0, .network_latency_ps = 0};
  CHECK(wave_count(one_document(4096), fixed_time{20'000'000, 1}, instant, pass::forward) == 32);
}

TEST_CASE("longer documents in more waves; without a time, four") {
  libra::topology const usual;
  std::int32_t const few = wave_count(one_document(8192), libra::roofline{}, usual, pass::forward);
  std::int32_t const many = wave_count(one_document(1 << 18), libra::roofline{}, usual, pass::forward);
  CHECK(few >= 1);
  CHECK(few < many);
  CHECK(wave_count(one_document(1 << 18), libra::pair_count{}, usual, pass::forward) == 4);
}

}  // namespace
