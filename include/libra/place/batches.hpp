#pragma once

#include <libra/core/error.hpp>
#include <libra/model/layout.hpp>
#include <libra/model/placement.hpp>

#include <cstddef>
#include <cstdint>

namespace libra {

/// An empty placement for all whole global batches of `sequences`, with every slot still in packed order.
///
/// Errors: `input_error` naming both numbers when they do not fill one global batch, or when the pools belong to
/// another layout.
[[nodiscard]] inline placement packed_order(std::size_t sequences, layout const& l, pool_partition const& pools) {
  validate(l);
  require(pools.dp() == l.dp, "pools cover ", pools.dp(), " slots, expected dp ", l.dp);
  auto const per_batch = static_cast<std::size_t>(l.sequences_per_batch());
  require(sequences >= per_batch, "the list packs into ", sequences,
          " sequences, expected at least dp * micro_steps = ", per_batch);
  placement placed{.dp = l.dp, .micro_steps = l.micro_steps, .at = {}};
  placed.at.resize(sequences / per_batch * per_batch);
  for (std::size_t s = 0; s < placed.at.size(); ++s) {
    placed.at[s] = sequence_id(s);
  }
  return placed;
}

}  // namespace libra
