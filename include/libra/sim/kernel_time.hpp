#pragma once

#include <libra/core/checked.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/model/machine.hpp>
#include <libra/model/tile.hpp>
#include <libra/model/work.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>

namespace libra::sim {

/// How long a rank's kernel takes: a tile restricted to some of the keys that its rows see, and starting a batch.
template <class Time>
concept tile_time = std::copy_constructible<Time> &&
                    requires(Time const& time, tile_shape const& tile, row_range keys, pass direction) {
                      { time(tile, keys, direction) } -> std::same_as<std::int64_t>;
                      { time.launch_ps(direction) } -> std::same_as<std::int64_t>;
                    };

/// The time of `roofline`, also for tiles that see only a part of their keys, as in a ring.
///
/// A kernel visits whole blocks of keys, counted from the segment's first, so a part costs the blocks it touches; and
/// every part costs its blocks of rows anew. Units: picoseconds, rounded up. Errors: `range_error` beyond int64.
/// Complexity: constant.
class kernel_time {
 public:
  /// Errors: `input_error` naming a rate that is out of range.
  constexpr explicit kernel_time(attention_rates const& rates) : whole_(rates) {}

  [[nodiscard]] constexpr std::int64_t operator()(tile_shape const& t, row_range keys, pass direction) const {
    row_range const seen = t.mask.panel(t.q_begin, t.q_end, t.length);
    if (keys.begin <= seen.begin && keys.end >= seen.end) {
      return whole_.of(t, direction);
    }
    row_range const blocks{keys.begin / key_block * key_block, (keys.end + key_block - 1) / key_block * key_block};
    int128 const packed = static_cast<int128>(t.q_end - t.q_begin) * t.heads;
    int128 const row_blocks = ceil_div(packed, row_block);
    // Unfilled rows of the last block are charged at the first row's keys: never less than `roofline` does.
    int128 const visited = visited_keys(t, {t.q_begin, t.q_end}, blocks) * t.heads +
                           (row_blocks * row_block - packed) * visited_keys(t, {t.q_begin, t.q_begin + 1}, blocks);
    attention_rates const& rates = whole_.rates();
    bool const forward = direction == pass::forward;
    int128 const flop = checked_mul(visited, static_cast<int128>(forward ? 4 : 10) * t.head_dim);
    int128 const ps = ceil_div(checked_mul(flop, 1'000'000'000'000),
                               forward ? rates.forward_flop_per_second : rates.backward_flop_per_second) +
                      row_blocks * (forward ? rates.forward_block_ps : rates.backward_block_ps);
    return checked_int64(ps, "a tile's time in picoseconds");
  }

  [[nodiscard]] constexpr std::int64_t launch_ps(pass direction) const noexcept {
    attention_rates const& rates = whole_.rates();
    return direction == pass::forward ? rates.forward_launch_ps : rates.backward_launch_ps;
  }

 private:
  static constexpr std::int64_t row_block = 128;

  /// Keys of `blocks` that `rows` visit, summed over the rows of one head. Pre: `blocks` holds whole key blocks.
  [[nodiscard]] static constexpr int128 visited_keys(tile_shape const& t, row_range rows, row_range blocks) noexcept {
    return visited_below(t, rows.end, blocks.end) - visited_below(t, rows.begin, blocks.end) -
           visited_below(t, rows.end, blocks.begin) + visited_below(t, rows.begin, blocks.begin);
  }

  /// Keys of blocks under `limit` that rows `[0, n)` visit.
  [[nodiscard]] static constexpr int128 visited_below(tile_shape const& t, std::int64_t n,
                                                      std::int64_t limit) noexcept {
    if (t.mask.kind == mask_kind::full) {
      std::int64_t const all = (t.length + key_block - 1) / key_block * key_block;
      return static_cast<int128>(n) * std::min(limit, all);
    }
    // Row i visits the blocks from that of its first key to that of key i; both ends are cut at the limit.
    int128 const ends = capped_below(n, limit) + static_cast<int128>(std::min(n, limit)) * key_block;
    std::int64_t const full_windows = t.mask.kind == mask_kind::window ? n - t.mask.width_tokens + 1 : 0;
    return full_windows > 0 ? ends - capped_below(full_windows, limit) : ends;
  }

  /// Sum over the first n integers of the integer rounded down to a key block, or of `limit` if that is less.
  [[nodiscard]] static constexpr int128 capped_below(std::int64_t n, std::int64_t limit) noexcept {
    std::int64_t const under = std::min(n, limit);
    std::int64_t const q = under / key_block;
    return key_block * (static_cast<int128>(key_block) * q * (q - 1) / 2 + static_cast<int128>(under % key_block) * q) +
           static_cast<int128>(n - under) * limit;
  }

  roofline whole_;
};
static_assert(tile_time<kernel_time>);

}  // namespace libra::sim
