#pragma once

#include <libra/dispatch/concept.hpp>
#include <libra/dispatch/ring_tiles.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace libra {

/// Unified sequence parallelism: heads are spread over `head_ranks` neighbouring ranks, and rings of head-tail chunks
/// connect the ranks of equal heads.
///
/// `head_ranks` 0 chooses as many as divide the group, its node's ranks and the key/value heads: neighbours exchange
/// all their rows, rings only keys and values. Meant for zigzag homes. Complexity: linear in the tiles. Source: Fang,
/// Zhao, "USP: a unified sequence parallelism approach for long context generative AI", 2024.
struct usp {
  static constexpr std::string_view name = "usp";

  std::int32_t head_ranks{0};

  template <cost_model Cost>
  [[nodiscard]] pool_dispatch operator()(pool_batch const& batch, Cost const&, topology const& links) const {
    std::int32_t const cp = batch.home.cp;
    std::int32_t const chosen =
        head_ranks > 0 ? head_ranks : std::gcd(cp, std::gcd(links.ranks_per_node, batch.shape.kv_heads));
    require(cp % chosen == 0, "head_ranks is ", chosen, ", expected a divisor of cp ", cp);
    return detail::ring_tiles(batch, chosen);
  }
};
static_assert(dispatcher<usp>);

}  // namespace libra
