#pragma once

#include <libra/core/digest.hpp>
#include <libra/core/error.hpp>
#include <libra/core/ids.hpp>
#include <libra/plan/fingerprint.hpp>
#include <libra/run/concept.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

namespace detail {

inline constexpr std::size_t pool_fingerprint_words = 10;

[[nodiscard]] constexpr std::array<std::uint64_t, pool_fingerprint_words> to_words(pool_fingerprint const& f) noexcept {
  return {f.batch.high,           f.batch.low,           f.tiles_forward.high,
          f.tiles_forward.low,    f.tiles_backward.high, f.tiles_backward.low,
          f.program_forward.high, f.program_forward.low, f.program_backward.high,
          f.program_backward.low};
}

[[nodiscard]] inline pool_fingerprint from_words(std::span<std::uint64_t const> w) noexcept {
  return {{w[0], w[1]}, {w[2], w[3]}, {w[4], w[5]}, {w[6], w[7]}, {w[8], w[9]}};
}

}  // namespace detail

/// Compares the ranks' fingerprints of one pool plan; all ranks call it, before their first exchange.
///
/// Errors: `run_error` on every rank when two differ, naming both and the first field in which they do.
template <transport Transport>
void agree(Transport& transport, pool_fingerprint const& mine) {
  auto const words = detail::to_words(mine);
  std::vector<std::uint64_t> all(words.size() * static_cast<std::size_t>(transport.ranks()));
  transport.gather(words, all);
  auto const of = [&](std::int32_t rank) {
    return detail::from_words(std::span(all).subspan(static_cast<std::size_t>(rank) * words.size(), words.size()));
  };
  pool_fingerprint const first = of(0);
  for (std::int32_t r = 1; r < transport.ranks(); ++r) {
    if (auto const field = first_difference(first, of(r))) {
      throw run_error(message("plans differ: the pool's fingerprint is ", to_hex(first.combined()), " on rank 0 and ",
                              to_hex(of(r).combined()), " on rank ", r, ", which differ first in ", *field));
    }
  }
}

}  // namespace libra
