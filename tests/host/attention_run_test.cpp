#include "conformance/pool_case.hpp"

#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/host/attention_run.hpp>
#include <libra/plan/metrics.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace {

using libra::tensor;
using libra::host::attention_run;
using libra::host::check_attention;
using libra::host::run_attention;
using plans = std::vector<std::shared_ptr<libra::pool_plan const>>;

/// Two pools of a micro-step: an outlier beside short documents, and two sequences with padding, over two ranks each.
std::vector<libra::pool_batch> two_pools() {
  libra::pool_batch batch;
  batch.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 32, .mask = {}};
  batch.home = {301, 2};
  batch.slots = 2;
  std::int64_t document = 0;
  auto const add = [&](std::int32_t slot, std::int64_t position, std::int64_t length) {
    batch.segments.push_back(
        {{libra::document_id(document++), 17, length}, libra::sequence_id(slot), libra::slot_id(slot), position});
  };
  add(0, 0, 301);
  add(1, 0, 40);
  add(1, 40, 1);
  add(1, 41, 90);
  std::vector<libra::pool_batch> pools{batch};
  batch.segments.clear();
  add(0, 0, 120);
  add(1, 0, 200);
  pools.push_back(batch);
  return pools;
}

template <class Dispatcher>
plans plan_all(std::vector<libra::pool_batch> const& pools, Dispatcher const& dispatch) {
  plans all;
  for (auto const& batch : pools) {
    all.push_back(conformance::plan(batch, dispatch, {{4, 4, 4}, 2}));
  }
  return all;
}

TEST_CASE("a micro-step runs under two dispatchers on the same numbers, and both pass the check") {
  auto const pools = two_pools();
  plans const head_parallel = plan_all(pools, libra::ulysses{});
  plans const balanced = plan_all(pools, libra::pooled{});
  std::vector<attention_run> runs;
  runs.push_back(run_attention(head_parallel, {.seed = 5, .softmax_scale = {}}));
  runs.push_back(run_attention(balanced, {.seed = 5, .softmax_scale = {}}));

  for (auto const& [run, planned] : {std::pair(&runs[0], &head_parallel), std::pair(&runs[1], &balanced)}) {
    CHECK(run->forward_seconds > 0);
    CHECK(run->backward_seconds > 0);
    CHECK(run->overlap >= 0);
    CHECK(run->overlap <= 1);
    REQUIRE(run->busy_seconds.size() == 8);
    libra::int128 bytes = 0;
    for (auto const& plan : *planned) {
      bytes += traffic_of(*plan).total_bytes_sent;
    }
    CHECK(run->bytes_sent == bytes);
    for (std::size_t r = 0; r < 8; ++r) {
      CHECK(run->busy_seconds[r] >= 0);
      auto const& programs = *(*planned)[r / 4];
      CHECK(run->ops[r].size() == programs.forward.ranks[r % 4].ops.size() + programs.backward.ranks[r % 4].ops.size());
      for (libra::op_time const& o : run->ops[r]) {
        CHECK(o.start_seconds <= o.end_seconds);
        CHECK(o.blocked_seconds <= o.end_seconds - o.start_seconds + 1e-9);
      }
    }
  }
  for (auto const& errors : check_attention(head_parallel, runs, {.seed = 5, .softmax_scale = {}})) {
    CHECK(errors.passed());
    CHECK(errors.o > 0);
  }
  for (std::size_t r = 0; r < 8; ++r) {
    for (tensor const t : {tensor::o, tensor::lse, tensor::dq}) {
      CHECK(runs[0].tensors[r][t] == runs[1].tensors[r][t]);
    }
  }
}

TEST_CASE("where shards lie changes no bit of the outputs") {
  auto pools = two_pools();
  plans const together = plan_all(pools, libra::pooled{});
  for (libra::pool_batch& batch : pools) {
    batch.stride = 1;
  }
  plans scattered;
  for (auto const& batch : pools) {  // nodes of two ranks
    scattered.push_back(
        conformance::plan(batch, libra::pooled{}, {.width = {4, 4, 4}, .waves = 2, .ranks_per_node = 2}));
  }
  std::vector<attention_run> const runs{run_attention(together), run_attention(scattered)};
  CHECK(check_attention(scattered, {&runs[1], 1})[0].passed());
  for (std::size_t pool = 0; pool < 2; ++pool) {
    for (std::int32_t r = 0; r < 4; ++r) {
      libra::home_shard const held = pools[pool].held_by(libra::rank_id(r));
      std::size_t const here = 4 * pool + static_cast<std::size_t>(r);
      std::size_t const there = 4 * pool + pools[pool].usual_rank(held).index();
      for (tensor const t : {tensor::o, tensor::lse, tensor::dq}) {
        CHECK(runs[1].tensors[here][t] == runs[0].tensors[there][t]);
      }
    }
  }
}

TEST_CASE("the check sees a wrong value, a value that is not a number, and padding that is not zero") {
  auto const pools = two_pools();
  plans const plan = plan_all(pools, libra::pooled{});
  attention_run const good = run_attention(plan);
  std::vector<attention_run> bad(3, good);
  bad[0].tensors[2][tensor::dk][7] += 0.5F;
  bad[1].tensors[4][tensor::lse][0] = std::numeric_limits<float>::quiet_NaN();
  bad[2].tensors[5][tensor::o].back() = 1e-30F;  // Slot 0 of the second pool ends at token 120 of 301.
  auto const errors = check_attention(plan, bad);
  CHECK_FALSE(errors[0].passed());
  CHECK(errors[0].dk > 1e-2);
  CHECK(errors[0].o < 1e-5);
  CHECK(std::isinf(errors[1].lse));
  CHECK(std::isinf(errors[2].o));
  CHECK(check_attention(plan, {&good, 1})[0].passed());
}

TEST_CASE("documents of one token pass the check, though dq and dk are nothing but rounding") {
  libra::pool_batch batch = two_pools()[0];
  batch.segments = {{{libra::document_id(std::int64_t{0}), 0, 1}, libra::sequence_id(0), libra::slot_id(0), 0},
                    {{libra::document_id(std::int64_t{1}), 5, 1}, libra::sequence_id(1), libra::slot_id(1), 0}};
  plans const plan = plan_all({batch}, libra::pooled{});
  attention_run const run = run_attention(plan);
  CHECK(check_attention(plan, {&run, 1})[0].passed());
}

TEST_CASE("the softmax scale reaches kernel and reference alike, and matters") {
  auto const pools = two_pools();
  plans const plan = plan_all(pools, libra::pooled{});
  attention_run const run = run_attention(plan, {.seed = 0, .softmax_scale = 0.7F});
  CHECK(check_attention(plan, {&run, 1}, {.seed = 0, .softmax_scale = 0.7F})[0].passed());
  CHECK_FALSE(check_attention(plan, {&run, 1})[0].passed());
}

TEST_CASE("random rows are the same everywhere, differ from one another and have variance one") {
  std::array<float, 4> row{};
  libra::host::fill_random_row(1, tensor::k, 2, 3, 4, row);
  // Golden values: they change only when the generator is changed on purpose.
  CHECK(row[0] == -0x1.8f0728p+0F);
  CHECK(row[3] == -0x1.2310d4p-1F);
  std::vector<float> many(20000), other(20000);
  libra::host::fill_random_row(1, tensor::k, 2, 3, 4, many);
  double sum = 0, squares = 0;
  for (float const x : many) {
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  CHECK(std::abs(sum / 20000) < 0.03);
  CHECK(std::abs(squares / 20000 - 1) < 0.03);
  libra::host::fill_random_row(1, tensor::k, 2, 3, 5, other);
  CHECK(many != other);
  libra::host::fill_random_row(1, tensor::v, 2, 3, 4, other);
  CHECK(many != other);
  libra::host::fill_random_row(2, tensor::k, 2, 3, 4, other);
  CHECK(many != other);
}

TEST_CASE("a failure in one pool ends the run with its message") {
  auto const pools = two_pools();
  plans plan = plan_all(pools, libra::pooled{});
  auto broken = std::make_shared<libra::pool_plan>(*plan[1]);
  broken->forward.ranks[2].ops.back().after[0] = 99;
  plan[1] = broken;
  CHECK_THROWS_WITH_AS((void)run_attention(plan), doctest::Contains("waits for 99 ops of queue fetch"),
                       libra::run_error);
}

TEST_CASE("a null plan is an error, and no plans are no work") {
  plans const none(1);
  CHECK_THROWS_WITH_AS((void)run_attention(none), "plan of pool 0 is null", libra::input_error);
  CHECK(run_attention({}).busy_seconds.empty());
}

}  // namespace
