#include <libra/host/attention_run.hpp>
#include <libra/host/backend.hpp>
#include <libra/host/reference.hpp>
#include <libra/host/tile_kernel.hpp>

#include <libra/core/random.hpp>
#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>
#include <libra/program/verifier.hpp>
#include <libra/run/pooled_attention.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace {

using libra::attention_mask;
using libra::rank_id;
using libra::tensor;
using libra::host::head_rows;

constexpr std::int64_t million = std::int64_t{1} << 20;

constexpr libra::scheduler planner{libra::best_fit_decreasing{}, libra::fixed_size{}, libra::variance_reduced{},
                                   libra::pooled{}, libra::pair_count{}};

std::vector<float> random_values(std::uint64_t seed, std::size_t count) {
  libra::random_bits bits(seed);
  std::vector<float> values(count);
  for (float& x : values) {
    x = static_cast<float>(bits.between(-1000, 1000)) * 1e-3F;
  }
  return values;
}

constexpr std::int32_t dim = 32;
constexpr std::int64_t rows = 70, keys = 4 * libra::key_block, before = keys - rows;

/// What one tile gives.
struct results {
  std::vector<float> o = std::vector<float>(rows * dim), lse = std::vector<float>(rows), delta = lse, dq = o,
                     dk = std::vector<float>(keys * dim), dv = dk;
};
bool same(results const& a, results const& b) {
  return a.o == b.o && a.lse == b.lse && a.delta == b.delta && a.dq == b.dq && a.dk == b.dk && a.dv == b.dv;
}

TEST_CASE("a windowed tile beyond 2^31 tokens has the bits of the same tile near the beginning") {
  auto const q = random_values(1, rows * dim), k = random_values(2, keys * dim), v = random_values(3, keys * dim),
             d_o = random_values(4, rows * dim);
  auto const compute = [&](std::int64_t first_key) {
    results r;
    libra::host::scratch memory;
    libra::host::tile_extent const extent{.rows = {first_key + before, first_key + keys},
                                          .keys = {first_key, first_key + keys},
                                          .length = first_key + keys,
                                          .heads = 1,
                                          .head_dim = dim,
                                          .mask = attention_mask::window(300),
                                          .scale = 0.2F};
    auto const view = [](auto& values, std::int64_t width) { return head_rows{values.data(), width, width}; };
    attend({extent, view(q, dim), view(k, dim), view(v, dim), view(r.o, dim), view(r.lse, 1)}, memory);
    row_dot(view(d_o, dim), view(r.o, dim), view(r.delta, 1), {rows, 1, dim});
    attend_backward({extent, view(q, dim), view(k, dim), view(v, dim), view(d_o, dim), view(r.lse, 1), view(r.delta, 1),
                     view(r.dq, dim), view(r.dk, dim), view(r.dv, dim)},
                    memory);
    return r;
  };
  std::int64_t const far = (std::int64_t{1} << 33) / libra::key_block * libra::key_block;
  CHECK(same(compute(4 * libra::key_block), compute(far)));
  CHECK(std::ranges::any_of(compute(far).dq, [](float x) { return x != 0.0F; }));
}

TEST_CASE("a document of more than 2^20 tokens is computed, its last rows as right as its first") {
  // One head of 16 channels and a narrow window keep it small; documents of one token fill the rest.
  libra::plan_options const options{
      .shape = {.q_heads = 1, .kv_heads = 1, .head_dim = 16, .mask = attention_mask::window(50)},
      .links = {},
      .width = libra::host::kernel::width};
  constexpr std::int64_t length = million + 1234, window = million + 1236;
  std::vector<std::int64_t> const lengths{length, 1, 1, 7, 1, 300};
  libra::layout const layout{.window_tokens = window, .dp = 2, .cp = 1, .pool = 2, .micro_steps = 1};
  libra::batch_plan const batch = planner.plan(lengths, layout, options);
  auto const plan =
      std::make_shared<libra::pool_plan const>(planner.plan_pool(batch, libra::micro_step_id(0), libra::pool_id(0)));

  std::vector<libra::host::rank_tensors> results(2);
  libra::host::rank_group group(2);
  run_ranks(group, [&](rank_id rank) {
    libra::host::backend parts(group, rank);
    libra::pooled_attention attention(parts, plan);
    libra::host::rank_tensors& t = results[rank.index()];
    t = libra::host::random_inputs(plan->batch, rank, 9);
    t[tensor::d_o] = {};
    t[tensor::o].resize(t[tensor::q].size());
    t[tensor::lse].resize(t[tensor::q].size() / 16);
    attention.forward(
        {.q = t[tensor::q], .k = t[tensor::k], .v = t[tensor::v], .o = t[tensor::o], .lse = t[tensor::lse]});
  });

  auto const long_one = std::ranges::find_if(plan->batch.segments,
                                             [](libra::placed_segment const& s) { return s.what.length == length; });
  REQUIRE(long_one != plan->batch.segments.end());
  libra::segment_id const segment(static_cast<std::size_t>(long_one - plan->batch.segments.begin()));
  // The last 200 rows: a reference that begins 50 tokens earlier sees all that they see.
  constexpr std::int64_t checked = 200, context = 250;
  std::vector<float> q, k, v;
  for (std::int64_t token = length - context; token < length; ++token) {
    for (auto const& [what, into] : {std::pair(tensor::q, &q), {tensor::k, &k}, {tensor::v, &v}}) {
      std::vector<float> row(16);
      libra::host::fill_random_row(9, what, long_one->what.document.value, token, 0, row);
      into->insert(into->end(), row.begin(), row.end());
    }
  }
  auto const reference = libra::host::reference_attention({.length = context,
                                                           .heads = 1,
                                                           .head_dim = 16,
                                                           .mask = attention_mask::window(50),
                                                           .scale = 0.25,
                                                           .q = {q.data(), 16, 16},
                                                           .k = {k.data(), 16, 16},
                                                           .v = {v.data(), 16, 16},
                                                           .d_o = {}});
  double worst = 0;
  for (std::int64_t i = 0; i < checked * 16; ++i) {
    std::int64_t const token = length - checked + i / 16;
    plan->batch.for_each_home(segment, {token, token + 1}, [&](rank_id rank, libra::row_range, std::int64_t local) {
      float const got = results[rank.index()][tensor::o][static_cast<std::size_t>(local * 16 + i % 16)];
      worst = std::max(worst, std::abs(static_cast<double>(got) -
                                       reference.o[static_cast<std::size_t>((context - checked) * 16 + i)]));
    });
  }
  CHECK(worst < 1e-5);
  CHECK(worst > 0);
}

TEST_CASE("lists of more than 2^31 tokens, documents of 2^23 and of one, plan and verify") {
  std::vector<std::int64_t> lengths(300, 8 * million);  // 2.5e9 tokens
  lengths.insert(lengths.end(), 100, 1);
  lengths.push_back(3 * million + 1);
  libra::plan_options const options{.shape = {.q_heads = 8, .kv_heads = 2, .head_dim = 128, .mask = {}}, .links = {}};
  libra::layout const layout{.window_tokens = 8 * million, .dp = 4, .cp = 2, .pool = 4, .micro_steps = 75};
  libra::batch_plan const batch = planner.plan(lengths, layout, options);
  CHECK(batch.packing.sequences.size() == 301);
  for (std::int32_t const step : {0, 74}) {
    libra::pool_plan const plan = planner.plan_pool(batch, libra::micro_step_id(step), libra::pool_id(0));
    CHECK(verify(plan.batch, plan.forward).what == "");
    CHECK(verify(plan.batch, plan.backward).what == "");
  }
}

}  // namespace
