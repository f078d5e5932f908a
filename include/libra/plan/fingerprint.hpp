#pragma once

#include <libra/core/digest.hpp>

#include <compare>
#include <optional>
#include <string_view>

namespace libra {

/// What all ranks of a job must agree on before a global batch, field by field so that a mismatch can be named.
struct placement_fingerprint {
  digest inputs;         ///< the lengths
  digest configuration;  ///< layout, shape, links, options and policies
  digest packing;        ///< segments of every sequence
  digest slots;          ///< the sequence of every slot

  [[nodiscard]] constexpr digest combined() const noexcept {
    return hasher{}.add(inputs).add(configuration).add(packing).add(slots).finish();
  }
  friend constexpr bool operator==(placement_fingerprint const&, placement_fingerprint const&) = default;
};

/// What the ranks of one pool must agree on before their first exchange.
struct pool_fingerprint {
  digest batch;  ///< the pool's segments and where they lie
  digest tiles_forward;
  digest tiles_backward;
  digest program_forward;  ///< every rank's ops, transfers and memory plan
  digest program_backward;

  [[nodiscard]] constexpr digest combined() const noexcept {
    return hasher{}
        .add(batch)
        .add(tiles_forward)
        .add(tiles_backward)
        .add(program_forward)
        .add(program_backward)
        .finish();
  }
  friend constexpr bool operator==(pool_fingerprint const&, pool_fingerprint const&) = default;
};

/// The name of the first field in which two fingerprints differ, or nothing when they agree.
[[nodiscard]] constexpr std::optional<std::string_view> first_difference(placement_fingerprint const& a,
                                                                         placement_fingerprint const& b) noexcept {
  if (a.inputs != b.inputs) return "inputs";
  if (a.configuration != b.configuration) return "configuration";
  if (a.packing != b.packing) return "packing";
  if (a.slots != b.slots) return "slots";
  return std::nullopt;
}
[[nodiscard]] constexpr std::optional<std::string_view> first_difference(pool_fingerprint const& a,
                                                                         pool_fingerprint const& b) noexcept {
  if (a.batch != b.batch) return "batch";
  if (a.tiles_forward != b.tiles_forward) return "tiles_forward";
  if (a.tiles_backward != b.tiles_backward) return "tiles_backward";
  if (a.program_forward != b.program_forward) return "program_forward";
  if (a.program_backward != b.program_backward) return "program_backward";
  return std::nullopt;
}

}  // namespace libra
