#pragma once

#include <libra/pool/concept.hpp>

#include <string_view>

namespace libra {

/// As few pools as the bound allows, of sizes that differ by at most one; the larger ones come first.
///
/// Slots stay in order, so a pool's ranks are consecutive and lie on as few nodes as its size needs.
/// Errors: `input_error` from `validate(layout)`. Complexity: linear in the number of pools.
struct fixed_size {
  static constexpr std::string_view name = "fixed_size";

  [[nodiscard]] pool_partition operator()(layout const& l, topology const&) const {
    validate(l);
    std::int32_t const count = l.pools_per_step();
    pool_partition pools;
    for (std::int32_t g = 0; g < count; ++g) {
      pools.begin.push_back(pools.begin.back() + l.dp / count + (g < l.dp % count ? 1 : 0));
    }
    return pools;
  }
};
static_assert(pool_partitioner<fixed_size>);

}  // namespace libra
