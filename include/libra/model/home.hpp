#pragma once

#include <libra/model/mask.hpp>

#include <algorithm>
#include <cstdint>

namespace libra {

/// How a packed sequence is cut over the ranks of its group.
enum class sharding : std::uint8_t {
  contiguous,  ///< one run of positions per rank, as head parallelism has it
  zigzag,      ///< of every segment, the c-th chunk from either end, as ring attention has it under a causal mask
};

/// Where the tokens of a packed sequence live outside attention: which rank of the group, at which local row.
///
/// Positions are those of contiguous sharding; under zigzag, `pool_batch` numbers the rows segment by segment. Rank c
/// of `cp` holds the contiguous positions `[c * T / cp, (c + 1) * T / cp)` in integer division, so T need not divide by
/// `cp`; with more ranks than tokens some hold none.
struct home_layout {
  std::int64_t window_tokens{};
  std::int32_t cp{1};
  sharding kind{sharding::contiguous};

  [[nodiscard]] constexpr std::int64_t shard_begin(std::int32_t c) const noexcept { return c * window_tokens / cp; }
  [[nodiscard]] constexpr std::int64_t local_tokens(std::int32_t c) const noexcept {
    return shard_begin(c + 1) - shard_begin(c);
  }
  /// The rank of the group that holds `position`. Pre: `0 <= position < window_tokens`.
  [[nodiscard]] constexpr std::int32_t rank_of(std::int64_t position) const noexcept {
    // c * T / cp <= position (rounded down) exactly when c * T < (position + 1) * cp.
    return static_cast<std::int32_t>(((position + 1) * cp - 1) / window_tokens);
  }

  /// Calls `visit(c, positions, local_begin)` for each run of positions that one rank holds contiguously, in order.
  template <class Visit>
  constexpr void for_each_piece(row_range positions, Visit visit) const {
    for (std::int64_t at = positions.begin; at < positions.end;) {
      std::int32_t const c = rank_of(at);
      std::int64_t const end = std::min(positions.end, shard_begin(c + 1));
      visit(c, row_range{at, end}, at - shard_begin(c));
      at = end;
    }
  }

  friend constexpr bool operator==(home_layout const&, home_layout const&) = default;
};

}  // namespace libra
