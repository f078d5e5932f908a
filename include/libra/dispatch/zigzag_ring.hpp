#pragma once

#include <libra/dispatch/concept.hpp>
#include <libra/dispatch/ring_tiles.hpp>

#include <string_view>

namespace libra {

/// Ring attention with head-tail chunks: of every segment, rank c of the group computes all heads of the c-th chunk
/// from either end, which have equal causal work together. Keys and values pass around the group.
///
/// Meant for zigzag homes, where no row has to move. Segments shorter than twice the group leave some ranks without
/// rows. Complexity: linear in the tiles.
/// Source: Liu et al., "Ring attention with blockwise transformers for near-infinite context", 2023; the head-tail
/// chunks: Zhu, "ring-flash-attention", 2024, and Megatron-LM's context parallelism.
struct zigzag_ring {
  static constexpr std::string_view name = "zigzag_ring";

  template <cost_model Cost>
  [[nodiscard]] pool_dispatch operator()(pool_batch const& batch, Cost const&, topology const&) const {
    return detail::ring_tiles(batch, 1);
  }
};
static_assert(dispatcher<zigzag_ring>);

}  // namespace libra
