#include <libra/core/ids.hpp>

#include <doctest/doctest.h>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace {

template <class Id>
constexpr bool plain_value = std::is_trivially_copyable_v<Id> && std::is_standard_layout_v<Id> &&
                             sizeof(Id) == sizeof(typename Id::value_type) && std::regular<Id> &&
                             std::three_way_comparable<Id, std::strong_ordering>;
static_assert(plain_value<libra::document_id> && plain_value<libra::sequence_id> && plain_value<libra::micro_step_id>);
static_assert(plain_value<libra::pool_id> && plain_value<libra::slot_id> && plain_value<libra::rank_id>);
static_assert(plain_value<libra::segment_id>);

// An id is made from a number, and turned into one, only by name.
static_assert(std::constructible_from<libra::rank_id, std::int32_t>);
static_assert(!std::convertible_to<std::int32_t, libra::rank_id> && !std::convertible_to<std::size_t, libra::rank_id>);
static_assert(!std::convertible_to<libra::rank_id, std::int32_t> &&
              !std::constructible_from<std::int32_t, libra::rank_id>);
static_assert(!std::constructible_from<std::size_t, libra::rank_id> && !std::constructible_from<bool, libra::rank_id>);

// Any integer type whose values all fit will do, and a container's index.
static_assert(std::constructible_from<libra::document_id, int> &&
              std::constructible_from<libra::document_id, std::size_t>);
static_assert(std::constructible_from<libra::rank_id, std::uint16_t>);
static_assert(!std::constructible_from<libra::rank_id, std::int64_t> &&
              !std::constructible_from<libra::rank_id, unsigned>);
static_assert(!std::constructible_from<libra::rank_id, double>);

// Ids of different kinds neither convert, assign nor compare.
static_assert(!std::constructible_from<libra::rank_id, libra::slot_id>);
static_assert(!std::constructible_from<libra::slot_id, libra::rank_id>);
static_assert(!std::assignable_from<libra::rank_id&, libra::slot_id>);
static_assert(!std::assignable_from<libra::rank_id&, std::int32_t>);
static_assert(!std::equality_comparable_with<libra::pool_id, libra::slot_id>);
static_assert(!std::equality_comparable_with<libra::rank_id, std::int32_t>);
template <class A, class B>
concept ordered = requires(A a, B b) { a < b; };
static_assert(ordered<libra::rank_id, libra::rank_id> && !ordered<libra::rank_id, libra::segment_id>);
static_assert(!ordered<libra::rank_id, int> && !ordered<int, libra::rank_id>);
template <class A>
concept adds_up = requires(A a) { a + a; };
static_assert(!adds_up<libra::rank_id>);

TEST_CASE("an id is its number") {
  CHECK(libra::rank_id().value == 0);
  CHECK(libra::rank_id(7).value == 7);
  CHECK(libra::rank_id(7).index() == 7U);
  CHECK(libra::document_id(std::size_t{1} << 40).value == std::int64_t{1} << 40);
  CHECK(libra::document_id(std::int64_t{1} << 40).index() == std::size_t{1} << 40);
  CHECK(libra::segment_id(-1).value == -1);
}

TEST_CASE("ids order as their numbers do") {
  CHECK(libra::sequence_id(2) == libra::sequence_id(std::size_t{2}));
  CHECK(libra::sequence_id(-1) < libra::sequence_id(0));
  CHECK(libra::sequence_id(3) > libra::sequence_id(2));
}

}  // namespace
