#pragma once

#include <libra/core/wide.hpp>
#include <libra/cost/concept.hpp>
#include <libra/model/machine.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace libra {

/// Picoseconds of one rank: the key blocks a tile visits at the peak rate, and a cost per block of query rows.
///
/// A fused attention kernel works on blocks of 128 keys and packs the rows of a group's query heads into blocks of 128.
/// Diagonal and last blocks are computed whole, so short documents and thin tiles run below the peak, and cutting a
/// tile never lowers the sum. The launch cost belongs to a batch of tiles, not to a tile; see `attention_rates`.
///
/// Units: picoseconds, rounded up. Errors: `range_error` naming the tile beyond int64. Complexity: constant.
/// Determinism: rates become fixed-point integers once, here.
class roofline {
 public:
  static constexpr std::string_view name = "roofline";

  /// Errors: `input_error` naming a rate that is out of range.
  constexpr explicit roofline(attention_rates const& rates = hopper_flash_attention)
      : rates_((validate(rates), rates)),
        forward_ps_per_flop_(fixed_point(rates.forward_flop_per_second)),
        backward_ps_per_flop_(fixed_point(rates.backward_flop_per_second)) {}

  [[nodiscard]] constexpr work operator()(tile_shape const& t) const {
    blocks_of_tile const b = blocks_of(t);
    return {time_of(t, b, pass::forward), time_of(t, b, pass::backward)};
  }
  /// The same of one pass.
  [[nodiscard]] constexpr std::int64_t of(tile_shape const& t, pass direction) const {
    return time_of(t, blocks_of(t), direction);
  }

  /// Its work is a rank's time, to be compared with the time of an exchange.
  [[nodiscard]] static constexpr bool counts_picoseconds() noexcept { return true; }
  [[nodiscard]] constexpr attention_rates const& rates() const noexcept { return rates_; }

 private:
  static constexpr std::int64_t row_block = 128;
  static constexpr int fraction_bits = 40;

  struct blocks_of_tile {
    int128 visited{};  ///< keys, times rows and heads
    int128 rows{};     ///< blocks of rows
  };

  [[nodiscard]] static constexpr blocks_of_tile blocks_of(tile_shape const& t) noexcept {
    std::int64_t const rows = t.q_end - t.q_begin;
    int128 const packed = static_cast<int128>(rows) * t.heads;
    int128 const blocks = (packed + row_block - 1) / row_block;
    // Unfilled rows of the last block are charged at the keys that every later row visits too: charging them at the
    // last row's would make a cut tile cheaper than a whole one.
    int128 const visited = capped(keys_below(t, t.q_end) - keys_below(t, t.q_begin), t.heads) +
                           (blocks * row_block - packed) * least_keys_from(t, t.q_begin);
    return {visited, blocks};
  }

  [[nodiscard]] constexpr std::int64_t time_of(tile_shape const& t, blocks_of_tile const& b, pass direction) const {
    return direction == pass::forward
               ? picoseconds(t, capped(b.visited, int128{4} * t.head_dim * forward_ps_per_flop_),
                             capped(b.rows, rates_.forward_block_ps))
               : picoseconds(t, capped(b.visited, int128{10} * t.head_dim * backward_ps_per_flop_),
                             capped(b.rows, rates_.backward_block_ps));
  }

  [[nodiscard]] static constexpr int128 fixed_point(std::int64_t flop_per_second) noexcept {
    return (static_cast<int128>(1'000'000'000'000) << fraction_bits) / flop_per_second;
  }

  /// The product, or 2^120 if that is less: more than any work that fits, and sums of two do not overflow. Pre: not
  /// negative.
  [[nodiscard]] static constexpr int128 capped(int128 a, int128 b) noexcept {
    constexpr int128 cap = static_cast<int128>(1) << 120;
    bool const narrow = fits_int64(a) && fits_int64(b);  // the common case needs no slow division
    return narrow ? std::min(a * b, cap) : b != 0 && a > cap / b ? cap : a * b;
  }

  /// Sum over rows `[0, n)` of the first `n` integers' value rounded down to a key block.
  [[nodiscard]] static constexpr int128 rounded_down_below(std::int64_t n) noexcept {
    std::int64_t const q = n / key_block;
    return key_block * (static_cast<int128>(key_block) * q * (q - 1) / 2 + static_cast<int128>(n % key_block) * q);
  }

  /// Keys in the blocks that rows `[0, n)` of one head visit.
  [[nodiscard]] static constexpr int128 keys_below(tile_shape const& t, std::int64_t n) noexcept {
    if (t.mask.kind == mask_kind::full) {
      return static_cast<int128>(n) * round_up(t.length);
    }
    // Row i ends in the block of key i; a window also starts in the block of key i - width + 1.
    int128 const ends = rounded_down_below(n) + static_cast<int128>(n) * key_block;
    bool const windowed = t.mask.kind == mask_kind::window && n >= t.mask.width_tokens;
    return windowed ? ends - rounded_down_below(n - t.mask.width_tokens + 1) : ends;
  }

  /// At most the keys that any row from `first` on visits, and never less for a later `first`.
  [[nodiscard]] static constexpr int128 least_keys_from(tile_shape const& t, std::int64_t first) noexcept {
    switch (t.mask.kind) {
      case mask_kind::full:
        return round_up(t.length);
      case mask_kind::window:
        return std::min(round_up(static_cast<int128>(first) + 1), round_up(t.mask.width_tokens));
      case mask_kind::causal:
        break;
    }
    return round_up(static_cast<int128>(first) + 1);
  }

  /// Keys rounded up to whole key blocks.
  [[nodiscard]] static constexpr int128 round_up(int128 keys) noexcept {
    return (keys + key_block - 1) / key_block * key_block;
  }

  [[nodiscard]] static constexpr std::int64_t picoseconds(tile_shape const& t, int128 scaled, int128 overhead) {
    int128 const ps = ceil_div(scaled, static_cast<int128>(1) << fraction_bits) + overhead;
    if (!fits_int64(ps)) {
      throw range_error(message("work of rows [", t.q_begin, ", ", t.q_end, ") of a segment of ", t.length,
                                " tokens times ", t.heads, " heads is beyond the picoseconds that 64 bits hold"));
    }
    return static_cast<std::int64_t>(ps);
  }

  attention_rates rates_;
  int128 forward_ps_per_flop_;
  int128 backward_ps_per_flop_;
};
static_assert(cost_model<roofline>);

}  // namespace libra
