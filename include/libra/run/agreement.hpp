#pragma once

#include <libra/core/digest.hpp>
#include <libra/core/error.hpp>
#include <libra/core/ids.hpp>
#include <libra/plan/fingerprint.hpp>
#include <libra/run/concept.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace libra {

namespace detail {

/// A fingerprint as the words that travel: two per digest, in the order of its fields.
[[nodiscard]] constexpr std::array<std::uint64_t, 10> to_words(pool_fingerprint const& f) noexcept {
  return {f.batch.high,           f.batch.low,           f.tiles_forward.high,
          f.tiles_forward.low,    f.tiles_backward.high, f.tiles_backward.low,
          f.program_forward.high, f.program_forward.low, f.program_backward.high,
          f.program_backward.low};
}
[[nodiscard]] constexpr std::array<std::uint64_t, 8> to_words(placement_fingerprint const& f) noexcept {
  return {f.inputs.high,  f.inputs.low,  f.configuration.high, f.configuration.low,
          f.packing.high, f.packing.low, f.slots.high,         f.slots.low};
}
constexpr void from_words(std::span<std::uint64_t const> w, pool_fingerprint& f) noexcept {
  f = {{w[0], w[1]}, {w[2], w[3]}, {w[4], w[5]}, {w[6], w[7]}, {w[8], w[9]}};
}
constexpr void from_words(std::span<std::uint64_t const> w, placement_fingerprint& f) noexcept {
  f = {{w[0], w[1]}, {w[2], w[3]}, {w[4], w[5]}, {w[6], w[7]}};
}

/// Compares the fingerprint at the front of every rank's `words`. Shape: `all` is `[ranks, words per rank]`.
template <class Fingerprint>
void compare_fingerprints(std::span<std::uint64_t const> all, std::size_t words_per_rank, std::string_view whose) {
  Fingerprint first;
  from_words(all, first);
  for (std::size_t r = 1; r < all.size() / words_per_rank; ++r) {
    Fingerprint other;
    from_words(all.subspan(r * words_per_rank), other);
    if (auto const field = first_difference(first, other)) {
      throw run_error(message("plans differ: ", whose, " fingerprint is ", to_hex(first.combined()), " on rank 0 and ",
                              to_hex(other.combined()), " on rank ", r, ", which differ first in ", *field));
    }
  }
}

/// Every rank's words. Shape: `[ranks, words]`.
template <transport Transport>
[[nodiscard]] std::vector<std::uint64_t> gathered(Transport& transport, std::span<std::uint64_t const> mine) {
  std::vector<std::uint64_t> all(mine.size() * static_cast<std::size_t>(transport.ranks()));
  transport.gather(mine, all);
  return all;
}

}  // namespace detail

/// Compares the ranks' fingerprints of one pool plan; all ranks of the pool call it, before their first exchange.
///
/// Errors: `run_error` on every rank when two differ, naming both and the first field in which they do.
template <transport Transport>
void agree(Transport& transport, pool_fingerprint const& mine) {
  auto const words = detail::to_words(mine);
  detail::compare_fingerprints<pool_fingerprint>(detail::gathered(transport, words), words.size(), "the pool's");
}

/// Compares the ranks' fingerprints of a placement; all ranks of the job call it, once per global batch.
///
/// Errors: as for a pool.
template <transport Transport>
void agree(Transport& transport, placement_fingerprint const& mine) {
  auto const words = detail::to_words(mine);
  detail::compare_fingerprints<placement_fingerprint>(detail::gathered(transport, words), words.size(),
                                                      "the placement's");
}

/// Compares the fingerprints, and then the softmax scale that each rank is about to compute with.
///
/// Errors: as above; for the scale `run_error` naming two ranks and their values.
template <transport Transport>
void agree(Transport& transport, pool_fingerprint const& mine, float softmax_scale) {
  auto const fingerprint = detail::to_words(mine);
  std::vector<std::uint64_t> words(fingerprint.begin(), fingerprint.end());
  words.push_back(std::bit_cast<std::uint32_t>(softmax_scale));
  std::vector<std::uint64_t> const all = detail::gathered(transport, words);
  detail::compare_fingerprints<pool_fingerprint>(all, words.size(), "the pool's");
  auto const scale = [&](std::size_t rank) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(all[(rank + 1) * words.size() - 1]));
  };
  for (std::size_t r = 1; r < all.size() / words.size(); ++r) {
    if (std::bit_cast<std::uint32_t>(scale(r)) != std::bit_cast<std::uint32_t>(scale(0))) {
      throw run_error(message("options differ: softmax_scale is ", std::to_string(scale(0)), " on rank 0 and ",
                              std::to_string(scale(r)), " on rank ", r));
    }
  }
}

}  // namespace libra
