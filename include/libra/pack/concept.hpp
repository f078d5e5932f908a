#pragma once

#include <libra/model/packing.hpp>

#include <concepts>
#include <cstdint>
#include <span>

namespace libra {

/// A packer: a callable `(lengths, window_tokens) -> packing`.
///
/// Keeps every token exactly once, or counts what it truncated; keeps each document's tokens in order; never exceeds
/// the window. Sequences are numbered by the position, then offset, of the segment that opened them. Errors:
/// `input_error` naming the index of a length that is not positive or, where that was chosen, longer than the window.
template <class Packer>
concept packer = std::copy_constructible<Packer> &&
                 requires(Packer const& pack, std::span<std::int64_t const> lengths, std::int64_t window_tokens) {
                   { pack(lengths, window_tokens) } -> std::same_as<packing>;
                 };

namespace archetype {

/// The least that satisfies `packer`.
struct pack {
  packing operator()(std::span<std::int64_t const>, std::int64_t) const { return {}; }
};
static_assert(packer<pack>);

}  // namespace archetype
}  // namespace libra
