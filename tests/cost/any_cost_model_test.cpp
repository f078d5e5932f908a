#include "support/printing.hpp"

#include <libra/cost/any_cost_model.hpp>
#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using libra::any_cost_model;
using libra::tile_shape;
using libra::work;

static_assert(!std::is_convertible_v<libra::pair_count, any_cost_model>);

constexpr tile_shape sample{100, 300, 700, 4, 128, {}};

TEST_CASE("costs what the model it holds costs, under its name") {
  any_cost_model cost(libra::pair_count{});
  CHECK(cost(sample) == libra::pair_count{}(sample));
  CHECK(libra::policy_name(cost) == "pair_count");
  CHECK_FALSE(cost.counts_picoseconds());
  any_cost_model const copy = cost;
  cost = any_cost_model(libra::roofline{});
  CHECK(cost(sample) == libra::roofline{}(sample));
  CHECK(libra::policy_name(cost) == "roofline");
  CHECK(cost.counts_picoseconds());
  CHECK(copy(sample) == libra::pair_count{}(sample));
}

TEST_CASE("holds any callable of the right form") {
  any_cost_model const rows([](tile_shape const& t) { return work{t.q_end - t.q_begin, 1}; });
  CHECK(rows(sample) == work{200, 1});
  CHECK(libra::policy_name(rows) == "custom");
  CHECK_FALSE(rows.counts_picoseconds());
}

}  // namespace
