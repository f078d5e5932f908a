#include <libra/pool/concept.hpp>

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace {

using libra::layout;
using libra::pool_partition;
using libra::pool_partitioner;
using libra::topology;

// The archetype minus one property at a time is no partitioner.
struct not_callable {};
struct not_const {
  pool_partition operator()(layout const&, topology const&) { return {}; }
};
struct without_topology {
  pool_partition operator()(layout const&) const { return {}; }
};
struct changes_the_layout {
  pool_partition operator()(layout&, topology const&) const { return {}; }
};
struct returns_sizes {
  std::vector<std::int32_t> operator()(layout const&, topology const&) const { return {}; }
};
struct not_copyable {
  pool_partition operator()(layout const&, topology const&) const { return {}; }
  std::unique_ptr<int> table;
};
static_assert(!pool_partitioner<not_callable> && !pool_partitioner<not_const> && !pool_partitioner<without_topology>);
static_assert(!pool_partitioner<changes_the_layout> && !pool_partitioner<returns_sizes>);
static_assert(!pool_partitioner<not_copyable> && !pool_partitioner<pool_partition>);

// The other seams' policies are none either.
static_assert(!pool_partitioner<libra::pair_count> && !pool_partitioner<libra::in_order>);
static_assert(!pool_partitioner<libra::as_packed> && !pool_partitioner<libra::ulysses>);
static_assert(!pool_partitioner<libra::archetype::cost> && !pool_partitioner<libra::archetype::pack>);
static_assert(!pool_partitioner<libra::archetype::place> && !pool_partitioner<libra::archetype::dispatch>);

TEST_CASE("any callable of the right form is a partitioner") {
  auto const whole = [](layout const& l, topology const&) { return pool_partition{{0, l.dp}}; };
  static_assert(pool_partitioner<decltype(whole)>);
  CHECK(whole(layout{}, topology{}).largest() == 64);
  CHECK(libra::archetype::pools{}(layout{}, topology{}).size() == 0);
}

}  // namespace
