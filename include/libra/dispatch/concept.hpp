#pragma once

#include <libra/cost/concept.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/model/topology.hpp>

#include <concepts>
#include <cstdint>

namespace libra {

/// A dispatcher that works with one cost model: a callable `(pool_batch, cost, topology) -> pool_dispatch`.
///
/// Covers every (query row, query head) of the batch exactly once in each pass, by ranks of the pool.
template <class Dispatcher, class Cost>
concept dispatcher_for =
    std::copy_constructible<Dispatcher> && cost_model<Cost> &&
    requires(Dispatcher const& dispatch, pool_batch const& batch, Cost const& cost, topology const& t) {
      { dispatch(batch, cost, t) } -> std::same_as<pool_dispatch>;
    };

/// A dispatcher for every cost model, as far as a concept can ask: for the least one.
template <class Dispatcher>
concept dispatcher = dispatcher_for<Dispatcher, archetype::cost>;

/// A dispatcher that can hold back: `exporting_at_most(permille)` is the same one, whose nodes give away at most so
/// many thousandths of the work that they have too much of. Optional; asked for where exchange memory is short.
template <class Dispatcher>
concept export_limiting = requires(Dispatcher const& dispatch, std::int32_t permille) {
  { dispatch.exporting_at_most(permille) } -> std::same_as<Dispatcher>;
};

namespace archetype {

/// The least that satisfies `dispatcher`.
struct dispatch {
  template <cost_model Cost>
  pool_dispatch operator()(pool_batch const&, Cost const&, topology const&) const {
    return {};
  }
};
static_assert(dispatcher<dispatch>);

}  // namespace archetype
}  // namespace libra
