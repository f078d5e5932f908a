#include <libra/place/concept.hpp>

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace {

using libra::int128;
using libra::layout;
using libra::placement;
using libra::placer;
using libra::pool_partition;

// The archetype minus one property at a time is no placer.
struct not_callable {};
struct not_const {
  placement operator()(std::span<int128 const>, layout const&, pool_partition const&) { return {}; }
};
struct without_pools {
  placement operator()(std::span<int128 const>, layout const&) const { return {}; }
};
struct takes_narrow_work {
  placement operator()(std::span<std::int64_t const>, layout const&, pool_partition const&) const { return {}; }
};
struct changes_the_work {
  placement operator()(std::span<int128>, layout const&, pool_partition const&) const { return {}; }
};
struct returns_slots {
  std::vector<libra::sequence_id> operator()(std::span<int128 const>, layout const&, pool_partition const&) const {
    return {};
  }
};
struct not_copyable {
  placement operator()(std::span<int128 const>, layout const&, pool_partition const&) const { return {}; }
  std::unique_ptr<int> table;
};
static_assert(!placer<not_callable> && !placer<not_const> && !placer<without_pools> && !placer<takes_narrow_work>);
static_assert(!placer<changes_the_work> && !placer<returns_slots> && !placer<not_copyable> && !placer<placement>);

// The other seams' policies are none either.
static_assert(!placer<libra::pair_count> && !placer<libra::in_order> && !placer<libra::fixed_size>);
static_assert(!placer<libra::ulysses>);
static_assert(!placer<libra::archetype::cost> && !placer<libra::archetype::pack>);
static_assert(!placer<libra::archetype::pools> && !placer<libra::archetype::dispatch>);

TEST_CASE("any callable of the right form is a placer") {
  auto const nothing = [](std::span<int128 const>, layout const&, pool_partition const&) { return placement{}; };
  static_assert(placer<decltype(nothing)>);
  CHECK(nothing({}, {}, {}) == libra::archetype::place{}({}, {}, {}));
}

}  // namespace
