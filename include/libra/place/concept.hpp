#pragma once

#include <libra/core/wide.hpp>
#include <libra/model/layout.hpp>
#include <libra/model/placement.hpp>

#include <concepts>
#include <span>

namespace libra {

/// A placer: a callable `(work, layout, pools) -> placement`, where `work[s]` is the weight of sequence s.
///
/// Permutes the sequences of each global batch over its slots and leaves an unfilled last batch out.
/// Pre: `work` holds at least one global batch.
template <class Placer>
concept placer = std::copy_constructible<Placer> && requires(Placer const& place, std::span<int128 const> work,
                                                             layout const& l, pool_partition const& pools) {
  { place(work, l, pools) } -> std::same_as<placement>;
};

namespace archetype {

/// The least that satisfies `placer`.
struct place {
  placement operator()(std::span<int128 const>, layout const&, pool_partition const&) const { return {}; }
};
static_assert(placer<place>);

}  // namespace archetype
}  // namespace libra
