#include <libra/dispatch/concept.hpp>

#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace {

using libra::dispatcher;
using libra::dispatcher_for;
using libra::pair_count;
using libra::pool_batch;
using libra::pool_dispatch;
using libra::topology;

// The archetype minus one property at a time is no dispatcher.
struct not_callable {};
struct not_const {
  template <libra::cost_model Cost>
  pool_dispatch operator()(pool_batch const&, Cost const&, topology const&) {
    return {};
  }
};
struct without_links {
  template <libra::cost_model Cost>
  pool_dispatch operator()(pool_batch const&, Cost const&) const {
    return {};
  }
};
struct changes_the_batch {
  template <libra::cost_model Cost>
  pool_dispatch operator()(pool_batch&, Cost const&, topology const&) const {
    return {};
  }
};
struct returns_tiles {
  template <libra::cost_model Cost>
  std::vector<libra::tile> operator()(pool_batch const&, Cost const&, topology const&) const {
    return {};
  }
};
struct not_copyable {
  template <libra::cost_model Cost>
  pool_dispatch operator()(pool_batch const&, Cost const&, topology const&) const {
    return {};
  }
  std::unique_ptr<int> table;
};
static_assert(!dispatcher<not_callable> && !dispatcher<not_const> && !dispatcher<without_links>);
static_assert(!dispatcher<changes_the_batch> && !dispatcher<returns_tiles> && !dispatcher<not_copyable>);

// One that knows a single cost model is a dispatcher for that one only.
struct for_pairs {
  pool_dispatch operator()(pool_batch const&, pair_count const&, topology const&) const { return {}; }
};
static_assert(dispatcher_for<for_pairs, pair_count> && !dispatcher_for<for_pairs, libra::roofline>);
static_assert(!dispatcher<for_pairs>);

// What is no cost model has no dispatcher.
static_assert(dispatcher_for<libra::pooled, pair_count> && dispatcher_for<libra::ulysses, libra::roofline>);
static_assert(!dispatcher_for<libra::pooled, libra::in_order> && !dispatcher_for<libra::pooled, int>);
static_assert(!dispatcher_for<libra::archetype::dispatch, libra::archetype::place>);

// The other seams' policies are none.
static_assert(!dispatcher<pair_count> && !dispatcher<libra::in_order> && !dispatcher<libra::fixed_size>);
static_assert(!dispatcher<libra::as_packed>);
static_assert(!dispatcher<libra::archetype::cost> && !dispatcher<libra::archetype::pack>);
static_assert(!dispatcher<libra::archetype::pools> && !dispatcher<libra::archetype::place>);

TEST_CASE("a generic callable of the right form is a dispatcher") {
  auto const nothing = [](pool_batch const&, libra::cost_model auto const&, topology const&) {
    return pool_dispatch{};
  };
  static_assert(dispatcher<decltype(nothing)> && dispatcher_for<decltype(nothing), libra::roofline>);
  CHECK(nothing(pool_batch{}, pair_count{}, topology{}) ==
        libra::archetype::dispatch{}(pool_batch{}, pair_count{}, topology{}));
}

TEST_CASE("only some dispatchers can hold back") {
  static_assert(libra::export_limiting<libra::pooled>);
  static_assert(!libra::export_limiting<libra::archetype::dispatch>);
  CHECK(libra::pooled{}.exporting_at_most(300).exported_permille == 300);
}

}  // namespace
