#include <libra/pack/concept.hpp>

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/pool/fixed_size.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace {

using libra::packer;
using libra::packing;

// The archetype minus one property at a time is no packer.
struct not_callable {};
struct not_const {
  packing operator()(std::span<std::int64_t const>, std::int64_t) { return {}; }
};
struct without_window {
  packing operator()(std::span<std::int64_t const>) const { return {}; }
};
struct changes_the_lengths {
  packing operator()(std::span<std::int64_t>, std::int64_t) const { return {}; }
};
struct returns_rows {
  libra::ragged<libra::segment> operator()(std::span<std::int64_t const>, std::int64_t) const { return {}; }
};
struct may_return_nothing {
  std::optional<packing> operator()(std::span<std::int64_t const>, std::int64_t) const { return {}; }
};
struct not_copyable {
  packing operator()(std::span<std::int64_t const>, std::int64_t) const { return {}; }
  std::unique_ptr<int> table;
};
static_assert(!packer<not_callable> && !packer<not_const> && !packer<without_window>);
static_assert(!packer<changes_the_lengths> && !packer<returns_rows> && !packer<may_return_nothing>);
static_assert(!packer<not_copyable> && !packer<packing>);

// The other seams' policies are none either.
static_assert(!packer<libra::pair_count> && !packer<libra::fixed_size> && !packer<libra::as_packed>);
static_assert(!packer<libra::ulysses>);
static_assert(!packer<libra::archetype::cost> && !packer<libra::archetype::pools>);
static_assert(!packer<libra::archetype::place> && !packer<libra::archetype::dispatch>);

TEST_CASE("any callable of the right form is a packer") {
  auto const nothing = [](std::span<std::int64_t const>, std::int64_t) { return packing{}; };
  static_assert(packer<decltype(nothing)>);
  std::vector<std::int64_t> const lengths{1, 2};
  CHECK(nothing(lengths, 5) == libra::archetype::pack{}(lengths, 5));
}

}  // namespace
