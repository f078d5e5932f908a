#include <libra/io/plan_report.hpp>

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using libra::micro_step_id;
using libra::plan_report;
using libra::pool_id;
using libra::pool_plan;
using libra::report_detail;

/// Five sequences: 100; 60 + 40; 100; 50 + 50; 30. Two micro-steps of two; the last has no place.
std::vector<std::int64_t> const lengths{100, 60, 40, 100, 50, 50, 30};
constexpr libra::plan_options options{.shape = {.q_heads = 2, .kv_heads = 1, .head_dim = 16, .mask = {}}};

template <class Dispatcher>
struct planned {
  libra::scheduler<libra::in_order, libra::fixed_size, libra::as_packed, Dispatcher, libra::pair_count> planner{
      {}, {}, {}, {}, {}};
  libra::batch_plan batch;

  explicit planned(std::int32_t pool)
      : batch(
            planner.plan(lengths, {.window_tokens = 100, .dp = 2, .cp = 1, .pool = pool, .micro_steps = 1}, options)) {}

  [[nodiscard]] pool_plan at(std::int32_t m, std::int32_t g) const {
    return planner.plan_pool(batch, micro_step_id(m), pool_id(g));
  }
  [[nodiscard]] plan_report report(report_detail detail = report_detail::figures) const {
    plan_report result(batch, detail);
    for (std::int32_t m = 0; m < batch.placement.steps(); ++m) {
      for (std::int32_t g = 0; g < batch.pools.size(); ++g) {
        pool_plan const pool = at(m, g);
        result.add(pool, locality_of(pool, libra::pair_count{}));
      }
    }
    return result;
  }
};

TEST_CASE("work is the largest rank's of every micro-step, over the mean of the sequences that are placed") {
  planned<libra::ulysses> const plan(1);
  plan_report const report = plan.report();
  // Causal pairs: 5050 and 1830 + 820; 5050 and 2 x 1275.
  CHECK(report.dispatched_over_mean() == doctest::Approx((5050.0 + 5050.0) / ((5050 + 2650 + 5050 + 2550) / 2.0)));
  CHECK(report.local_token_share() == 1.0);
  CHECK(report.local_work_share() == 1.0);
  CHECK(report.max_bytes_sent() == 0);
  CHECK(report.max_bytes_received() == 0);
  CHECK(report.max_ranks_per_exchange() == 1);
}

TEST_CASE("where a rank is slow, figures are times, over the time of all ranks together") {
  planned<libra::ulysses> plan(1);
  plan.batch.options.speeds_permille = {1000, 500};
  plan_report const report = plan.report();
  // Rank 1 takes twice as long: 2650 pairs and 2550 pairs weigh more than 5050.
  CHECK(report.dispatched_over_mean() == doctest::Approx((5300.0 + 5100.0) / ((5050 + 2650 + 5050 + 2550) / 1.5)));
}

TEST_CASE("bytes and memory are the largest of all pools, shares are of all rows") {
  planned<libra::pooled> const plan(2);
  plan_report const report = plan.report();
  std::int64_t sent = 0, received = 0, workspace = 0;
  libra::pool_locality all;
  for (std::int32_t m = 0; m < 2; ++m) {
    pool_plan const pool = plan.at(m, 0);
    libra::pool_traffic const traffic = traffic_of(pool);
    sent = std::max(sent, traffic.max_bytes_sent);
    received = std::max(received, traffic.max_bytes_received);
    workspace = std::max(workspace, traffic.workspace_bytes);
    libra::pool_locality const local = locality_of(pool, libra::pair_count{});
    all.local_rows += local.local_rows;
    all.rows += local.rows;
  }
  CHECK(sent > 0);
  CHECK(report.max_bytes_sent() == sent);
  CHECK(report.max_bytes_received() == received);
  CHECK(report.workspace_bytes() == workspace);
  CHECK(report.local_token_share() ==
        doctest::Approx(static_cast<double>(all.local_rows) / static_cast<double>(all.rows)));
  CHECK(report.local_token_share() < 1.0);
  planned<libra::ulysses> const apart(1);
  CHECK(report.dispatched_over_mean() < apart.report().dispatched_over_mean());
  CHECK(report.max_ranks_per_exchange() == 2);
}

TEST_CASE("pools are listed as they were added; tiles are kept only when asked for") {
  planned<libra::pooled> const plan(1);
  plan_report const figures = plan.report();
  plan_report const tiles = plan.report(report_detail::tiles);
  REQUIRE(figures.pools().size() == 4);
  REQUIRE(tiles.pools().size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(figures.pools()[i].micro_step == micro_step_id(i / 2));
    CHECK(figures.pools()[i].pool == pool_id(i % 2));
    CHECK(figures.pools()[i].dispatch.forward.empty());
    CHECK(figures.pools()[i].batch.segments.empty());
    CHECK_FALSE(tiles.pools()[i].dispatch.forward.empty());
    CHECK_FALSE(tiles.pools()[i].batch.segments.empty());
  }
  CHECK(tiles.detail() == report_detail::tiles);
  CHECK(&tiles.batch() == &plan.batch);
}

TEST_CASE("the fingerprint covers the placement, every pool and their order, not what is kept") {
  planned<libra::pooled> const plan(1);
  CHECK(plan.report().fingerprint() == plan.report(report_detail::tiles).fingerprint());
  CHECK(plan.report().fingerprint() != planned<libra::ulysses>(1).report().fingerprint());
  plan_report one(plan.batch);
  plan_report const none = one;
  plan_report turned = one;
  one.add(plan.at(0, 0), {});
  CHECK(one.fingerprint() != none.fingerprint());
  turned.add(plan.at(0, 1), {});
  turned.add(plan.at(0, 0), {});
  one.add(plan.at(0, 1), {});
  CHECK(one.fingerprint() != turned.fingerprint());
}

TEST_CASE("of nothing everything is local") {
  planned<libra::ulysses> const plan(1);
  plan_report const empty(plan.batch);
  CHECK(empty.local_token_share() == 1.0);
  CHECK(empty.local_work_share() == 1.0);
  CHECK(empty.pools().empty());
  CHECK(empty.idle_ranks() == 0);
}

}  // namespace
