#pragma once

#include <libra/core/ids.hpp>
#include <libra/model/mask.hpp>

#include <cstdint>

namespace libra {

/// What a cost model needs to know of a tile: query rows `[q_begin, q_end)` of a segment of `length` tokens times
/// `heads` query heads of one key/value head.
struct tile_shape {
  std::int64_t q_begin{};
  std::int64_t q_end{};
  std::int64_t length{};
  std::int32_t heads{1};
  std::int32_t head_dim{128};
  attention_mask mask{};
};

/// A sequence-head tile and the rank that computes it.
///
/// Heads are query heads `[head_begin, head_end)`, all of one key/value head; rows count from the segment's first
/// token.
struct tile {
  segment_id segment;
  rank_id rank;
  std::int32_t head_begin{};
  std::int32_t head_end{};
  std::int64_t q_begin{};
  std::int64_t q_end{};

  friend constexpr auto operator<=>(tile const&, tile const&) = default;
};

}  // namespace libra
