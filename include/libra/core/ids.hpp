#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace libra {

/// An index of one kind of thing. Ids of different kinds neither convert nor compare.
template <class Tag, class Integer>
struct strong_id {
  using value_type = Integer;

  Integer value{};

  constexpr strong_id() = default;
  /// From any integer type whose values all fit.
  template <std::integral Number>
    requires(std::numeric_limits<Number>::digits <= std::numeric_limits<Integer>::digits)
  constexpr explicit strong_id(Number v) noexcept : value(v) {}
  /// From a container's index. Pre: it fits.
  template <std::same_as<std::size_t> Index>
  constexpr explicit strong_id(Index v) noexcept : value(static_cast<Integer>(v)) {}

  /// The id as an index into a vector.
  [[nodiscard]] constexpr std::size_t index() const noexcept { return static_cast<std::size_t>(value); }

  friend constexpr auto operator<=>(strong_id, strong_id) = default;
};

/// Position of a document in the list of lengths that was given.
using document_id = strong_id<struct document_tag, std::int64_t>;
/// Number of a packed sequence, in packed order.
using sequence_id = strong_id<struct sequence_tag, std::int32_t>;
/// Number of a micro-step, counted through all global batches.
using micro_step_id = strong_id<struct micro_step_tag, std::int32_t>;
/// Number of a pool inside its micro-step.
using pool_id = strong_id<struct pool_tag, std::int32_t>;
/// Number of a slot (one packed sequence and its context-parallel group) inside its pool.
using slot_id = strong_id<struct slot_tag, std::int32_t>;
/// Number of a rank inside its pool: `slot * cp + c`.
using rank_id = strong_id<struct rank_tag, std::int32_t>;
/// Number of a segment inside its pool's batch.
using segment_id = strong_id<struct segment_tag, std::int32_t>;

}  // namespace libra
