#pragma once

#include <libra/core/error.hpp>
#include <libra/model/pool_batch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace libra::detail {

/// Tiles of a group of `cp = head_ranks * R` ranks: rank `r * head_ranks + u` computes the u-th share of the query
/// heads for the r-th of R chunks from either end of every segment.
[[nodiscard]] inline pool_dispatch ring_tiles(pool_batch const& batch, std::int32_t head_ranks) {
  std::int32_t const cp = batch.home.cp;
  std::int32_t const rings = cp / head_ranks;
  std::int32_t const heads = batch.shape.q_heads;
  std::int32_t const group = batch.shape.group();
  pool_dispatch result;
  result.ranks_per_exchange = cp;
  result.idle_ranks = batch.slots * rings * std::max(0, head_ranks - heads);
  result.flow = key_flow::ring;
  auto const chunk_begin = [&](segment_id s, std::int32_t i) {
    return i * batch.length(s) / (2 * std::int64_t{rings});
  };
  for (std::size_t s = 0; s < batch.segments.size(); ++s) {
    segment_id const id(s);
    for (std::int32_t c = 0; c < cp; ++c) {
      std::int32_t const u = c % head_ranks;
      auto const last = static_cast<std::int32_t>((std::int64_t{u} + 1) * heads / head_ranks);
      for (auto h = static_cast<std::int32_t>(std::int64_t{u} * heads / head_ranks); h < last;) {
        std::int32_t const end = std::min(last, (h / group + 1) * group);
        for (std::int32_t const i : {c / head_ranks, 2 * rings - 1 - c / head_ranks}) {
          row_range const rows{chunk_begin(id, i), chunk_begin(id, i + 1)};
          if (rows.size() > 0) {
            result.forward.push_back({id, batch.rank_of(batch[id].slot, c), h, end, rows.begin, rows.end});
          }
        }
        h = end;
      }
    }
  }
  result.backward = result.forward;
  return result;
}

}  // namespace libra::detail
