#include <libra/io/plan_json.hpp>

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/io/plan_report.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/plan/metrics.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using json = nlohmann::ordered_json;
using lengths = std::vector<std::int64_t>;
using libra::report_detail;

namespace {

constexpr libra::layout layout{.window_tokens = 100, .dp = 2, .cp = 2, .pool = 2, .micro_steps = 1};
constexpr libra::plan_options options{.shape = {.q_heads = 2, .kv_heads = 1, .head_dim = 16, .mask = {}}};

/// A plan of packed order under `dispatch`, and its report.
template <class Dispatcher>
json written(lengths const& list, Dispatcher dispatch, report_detail detail, libra::document_origin const& origin) {
  // Static, because gcc 12 at -O1 takes the bytes of stateless policies for uninitialised.
  static libra::scheduler const plan(libra::in_order{}, libra::fixed_size{}, libra::as_packed{}, dispatch,
                                     libra::pair_count{});
  libra::batch_plan const batch = plan.plan(list, layout, options);
  libra::plan_report report(batch, detail);
  for (std::int32_t m = 0; m < batch.placement.steps(); ++m) {
    libra::pool_plan pool = plan.plan_pool(batch, libra::micro_step_id(m), libra::pool_id(0));
    libra::pool_locality const locality = libra::locality_of(pool, libra::pair_count{});
    report.add(std::move(pool), locality);
  }
  std::string text;
  libra::json_writer out(text);
  out.object([&] { write_members(out, report, {.pack = 0.5, .place = 0.25, .dispatch = 0.125}, origin); });
  return json::parse(text);
}

/// Puts everything on the first rank, forward, and on the last rank, backward.
struct lopsided {
  template <libra::cost_model Cost>
  libra::pool_dispatch operator()(libra::pool_batch const& batch, Cost const&, libra::topology const&) const {
    libra::pool_dispatch result{.forward = {}, .backward = {}, .ranks_per_exchange = batch.ranks(), .idle_ranks = 3};
    for (std::size_t s = 0; s < batch.segments.size(); ++s) {
      libra::segment_id const id(s);
      result.forward.push_back({id, libra::rank_id(0), 0, 2, 0, batch.length(id)});
      result.backward.push_back({id, libra::rank_id(batch.ranks() - 1), 0, 2, 0, batch.length(id)});
    }
    return result;
  }
};
static_assert(libra::dispatcher<lopsided>);

}  // namespace

TEST_CASE("figures follow their definitions") {
  // Three sequences: 100; 60 + 40; 100. The third has no place in a micro-step of two.
  json const document = written({100, 60, 40, 100}, lopsided{}, report_detail::figures, {.index = {}, .documents = 4});
  CHECK(document["packing"].dump() ==
        R"({"documents":4,"tokens":300,"sequences":3,"padding_tokens":0,"split_documents":0,"truncated_tokens":0,)"
        R"("dropped_sequences":1,"efficiency":1.0,"empty_documents":0,"least_sequences":3})");
  // Causal pairs: 5050; 1830 + 820.
  double const heavy = 5050;
  double const all = 5050 + 1830 + 820;
  CHECK(document["placement"]["ulysses_over_mean"].get<double>() == doctest::Approx(heavy / (all / 2)));
  CHECK(document["placement"]["placed_over_mean"].get<double>() == doctest::Approx(1.0));
  CHECK(document["dispatch"]["dispatched_over_mean"].get<double>() == doctest::Approx(4.0));
  // Rank 0 is home to half of the first sequence only: no segment lies inside it.
  CHECK(document["dispatch"]["local_token_share"] == 0.0);
  CHECK(document["dispatch"]["max_ranks_per_exchange"] == 4);
  CHECK(document["dispatch"]["idle_ranks"] == 3);
  CHECK(document["dispatch"]["max_bytes_sent"].get<std::int64_t>() > 0);
  CHECK(document["dispatch"]["workspace_bytes"].get<std::int64_t>() > 0);
  json const& pool = document["dispatch"]["pools"][0];
  CHECK(pool["makespan"][0] == static_cast<std::int64_t>(all) * 2 * 2);
  CHECK(pool["makespan"][1] == static_cast<std::int64_t>(all) * 2 * 5);
  CHECK(document["seconds"].dump() == R"({"pack":0.5,"place":0.25,"dispatch":0.125})");
}

TEST_CASE("tiles count tokens inside the document and name it by the given list's index") {
  // The second document is cut at the window: its second piece begins at token 50.
  std::vector<std::int64_t> const index{7, 3};
  json const document =
      written({50, 150}, lopsided{}, report_detail::tiles, {.index = index, .documents = 9, .empty_documents = 1});
  CHECK(document["packing"]["segments"].dump() == "[[0,7,0,50],[0,3,0,50],[1,3,50,100]]");
  CHECK(document["packing"]["documents"] == 9);
  CHECK(document["packing"]["empty_documents"] == 1);
  CHECK(document["placement"]["slots"].dump() == "[[0,0,0,0],[1,0,0,1]]");
  CHECK(document["placement"]["work"].dump() == "[35700,70700]");
  json const& pool = document["dispatch"]["pools"][0];
  CHECK(pool["tiles"].dump() == "[[0,7,0,2,0,50,0],[0,3,0,2,0,50,0],[1,3,0,2,50,150,0]]");
  CHECK(pool["tiles_backward"].dump() == "[[0,7,0,2,0,50,3],[0,3,0,2,0,50,3],[1,3,0,2,50,150,3]]");
}

TEST_CASE("backward tiles are left out where they are the forward's") {
  json const document = written({50, 150}, libra::pooled{}, report_detail::tiles, {.index = {}, .documents = 2});
  CHECK_FALSE(document["dispatch"]["pools"][0].contains("tiles_backward"));
  CHECK(document["dispatch"]["dispatched_over_mean"].get<double>() < 1.1);
}

TEST_CASE("the fingerprint covers the tiles, not the detail of the report") {
  libra::document_origin const origin{.index = {}, .documents = 2};
  json const figures = written({50, 150}, libra::pooled{}, report_detail::figures, origin);
  json const tiles = written({50, 150}, libra::pooled{}, report_detail::tiles, origin);
  json const other = written({50, 150}, lopsided{}, report_detail::tiles, origin);
  CHECK(figures["fingerprint"] == tiles["fingerprint"]);
  CHECK(figures["fingerprint"] != other["fingerprint"]);
}
