#pragma once

#include <libra/model/layout.hpp>
#include <libra/model/placement.hpp>
#include <libra/model/topology.hpp>

#include <concepts>

namespace libra {

/// A pool partitioner: a callable `(layout, topology) -> pool_partition`.
///
/// Cuts the slots of a micro-step into `ceil(dp / pool)` pools of consecutive slots whose sizes differ by at most one,
/// none above `pool`.
template <class Pools>
concept pool_partitioner =
    std::copy_constructible<Pools> && requires(Pools const& pools, layout const& l, topology const& t) {
      { pools(l, t) } -> std::same_as<pool_partition>;
    };

namespace archetype {

/// The least that satisfies `pool_partitioner`.
struct pools {
  pool_partition operator()(layout const&, topology const&) const { return {}; }
};
static_assert(pool_partitioner<pools>);

}  // namespace archetype
}  // namespace libra
