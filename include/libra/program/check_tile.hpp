#pragma once

#include <libra/core/error.hpp>
#include <libra/model/pool_batch.hpp>

#include <cstdint>

namespace libra::detail {

/// Errors: `input_error` naming what of a tile lies outside the pool, the segment or one key/value head.
inline void check_tile(pool_batch const& batch, tile const& t) {
  require(t.rank.value >= 0 && t.rank.value < batch.ranks(), "tile of segment ", t.segment.value, " is on rank ",
          t.rank.value, ", expected 0 to ", batch.ranks() - 1);
  require(t.segment.value >= 0 && t.segment.index() < batch.segments.size(), "tile names segment ", t.segment.value,
          ", expected 0 to ", static_cast<std::int64_t>(batch.segments.size()) - 1);
  require(0 <= t.q_begin && t.q_begin < t.q_end && t.q_end <= batch.length(t.segment), "tile of segment ",
          t.segment.value, " has rows [", t.q_begin, ", ", t.q_end, "), expected some of [0, ", batch.length(t.segment),
          ")");
  require(0 <= t.head_begin && t.head_begin < t.head_end && t.head_end <= batch.shape.q_heads &&
              t.head_begin / batch.shape.group() == (t.head_end - 1) / batch.shape.group(),
          "tile of segment ", t.segment.value, " has heads [", t.head_begin, ", ", t.head_end,
          "), expected query heads of one key/value head");
}

}  // namespace libra::detail
