#include <libra/cost/concept.hpp>

#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <memory>

namespace {

using libra::cost_model;
using libra::tile_shape;
using libra::work;

// The archetype minus one property at a time is no cost model.
struct not_callable {};
struct not_const {
  work operator()(tile_shape const&) { return {}; }
};
struct changes_the_tile {
  work operator()(tile_shape&) const { return {}; }
};
struct takes_a_tile {
  work operator()(libra::tile const&) const { return {}; }
};
struct returns_a_number {
  std::int64_t operator()(tile_shape const&) const { return 0; }
};
struct returns_a_sum {
  libra::wide_work operator()(tile_shape const&) const { return {}; }
};
struct returns_a_reference {
  work const& operator()(tile_shape const&) const { return kept; }
  work kept;
};
struct not_copyable {
  work operator()(tile_shape const&) const { return {}; }
  std::unique_ptr<int> table;
};
static_assert(!cost_model<not_callable> && !cost_model<not_const> && !cost_model<changes_the_tile>);
static_assert(!cost_model<takes_a_tile> && !cost_model<returns_a_number> && !cost_model<returns_a_sum>);
static_assert(!cost_model<returns_a_reference> && !cost_model<not_copyable> && !cost_model<work>);

// The other seams' policies are none either.
static_assert(!cost_model<libra::in_order> && !cost_model<libra::fixed_size> && !cost_model<libra::as_packed>);
static_assert(!cost_model<libra::ulysses>);
static_assert(!cost_model<libra::archetype::pack> && !cost_model<libra::archetype::pools>);
static_assert(!cost_model<libra::archetype::place> && !cost_model<libra::archetype::dispatch>);

TEST_CASE("any callable of the right form is a cost model") {
  auto const rows = [](tile_shape const& t) { return work{t.q_end - t.q_begin, 0}; };
  static_assert(cost_model<decltype(rows)>);
  static_assert(cost_model<work (*)(tile_shape const&)>);
  auto const in_floating_point = [](tile_shape const&) { return 0.5; };
  static_assert(!cost_model<decltype(in_floating_point)>);
  CHECK(rows({2, 5, 10, 1, 16, {}}).forward == 3);
  CHECK(libra::archetype::cost{}({}) == work{});
}

/// Says whether it counts time, at compile time or later.
struct says {
  work operator()(tile_shape const&) const { return {}; }
  [[nodiscard]] bool counts_picoseconds() const { return answer; }
  bool answer{};
};
static_assert(libra::timing_cost_model<says> && libra::timing_cost_model<libra::roofline>);
static_assert(!libra::timing_cost_model<libra::pair_count> && !libra::timing_cost_model<libra::archetype::cost>);

TEST_CASE("a cost model counts time only if it says so") {
  CHECK(libra::counts_time(says{true}));
  CHECK_FALSE(libra::counts_time(says{false}));
  CHECK(libra::counts_time(libra::roofline{}));
  CHECK_FALSE(libra::counts_time(libra::pair_count{}));
}

}  // namespace
