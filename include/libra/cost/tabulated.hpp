#pragma once

#include <libra/core/error.hpp>
#include <libra/core/wide.hpp>
#include <libra/cost/concept.hpp>
#include <libra/model/machine.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace libra {

/// A measurement: how long one block of 128 query rows takes against so many keys. Units: picoseconds.
struct measured_block {
  std::int64_t keys{};
  std::int64_t forward_ps{};
  std::int64_t backward_ps{};

  friend constexpr bool operator==(measured_block const&, measured_block const&) = default;
};

/// Picoseconds of one rank, from measurements of the kernel that will run.
///
/// A row costs a 128th of what its block would take at the row's number of keys: linear between measured points and
/// beyond the last, constant before the first. The rows of a group's query heads share blocks; unfilled rows of the
/// last block are charged at the first row's keys, so cutting a tile never lowers the sum. To measure: time a launch
/// with enough equal rectangular tiles to fill the device, and divide by the blocks that run at once.
///
/// Units: picoseconds, rounded up. Errors: `range_error` naming the tile beyond int64. Complexity: logarithmic in the
/// points. Determinism: slopes become fixed-point integers once, here.
class tabulated {
 public:
  static constexpr std::string_view name = "tabulated";

  /// Errors: `input_error` naming the first point that is out of range or order: at least two points, keys rising from
  /// 1 at least and at most 2^40, times not negative, at most 2^50, not falling, and in the end by at most 2^30 a key.
  explicit tabulated(std::span<measured_block const> points) {
    validate(points);
    for (pass const p : {pass::forward, pass::backward}) {
      std::vector<knot>& curve = p == pass::forward ? forward_ : backward_;
      for (std::size_t i = 0; i < points.size(); ++i) {
        measured_block const& next = points[std::min(i + 1, points.size() - 1)];
        int128 const rise = static_cast<int128>(time_of(next, p) - time_of(points[i], p)) << fraction_bits;
        curve.push_back({.keys = points[i].keys,
                         .value = static_cast<int128>(time_of(points[i], p)) << fraction_bits,
                         .slope = i + 1 < points.size() ? rise / (next.keys - points[i].keys) : curve.back().slope});
      }
      curve.front().below = curve.front().value * (curve.front().keys - 1);
      for (std::size_t i = 1; i < curve.size(); ++i) {
        curve[i].below = curve[i - 1].below + sum_from(curve[i - 1], curve[i].keys - curve[i - 1].keys);
      }
    }
  }

  [[nodiscard]] work operator()(tile_shape const& t) const {
    return {picoseconds(t, forward_), picoseconds(t, backward_)};
  }
  [[nodiscard]] static constexpr bool counts_picoseconds() noexcept { return true; }

 private:
  static constexpr std::int64_t row_block = 128;
  static constexpr int fraction_bits = 12;

  /// Where the curve bends; values are scaled by 2^fraction_bits.
  struct knot {
    std::int64_t keys{};
    int128 value{};
    int128 slope{};  ///< per key from here on
    int128 below{};  ///< sum of the curve over 1 to keys - 1
  };

  [[nodiscard]] static constexpr std::int64_t time_of(measured_block const& point, pass p) noexcept {
    return p == pass::forward ? point.forward_ps : point.backward_ps;
  }

  static void validate(std::span<measured_block const> points) {
    constexpr std::int64_t most_keys = std::int64_t{1} << 40;
    constexpr std::int64_t most_ps = std::int64_t{1} << 50;
    constexpr std::int64_t most_ps_per_key = std::int64_t{1} << 30;
    require(points.size() >= 2, "there are ", points.size(), " measured points, expected at least 2");
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::int64_t const least_keys = i == 0 ? 1 : points[i - 1].keys + 1;
      require(points[i].keys >= least_keys && points[i].keys <= most_keys, "measured point ", i, " has ",
              points[i].keys, " keys, expected ", least_keys, " to ", most_keys);
      for (pass const p : {pass::forward, pass::backward}) {
        std::int64_t const least = i == 0 ? 0 : time_of(points[i - 1], p);
        require(time_of(points[i], p) >= least && time_of(points[i], p) <= most_ps, "measured point ", i, " takes ",
                time_of(points[i], p), p == pass::forward ? " ps forward" : " ps backward", ", expected ", least,
                " to ", most_ps);
      }
    }
    // What lies beyond the last point is bounded too, so that sums over whole windows fit 128 bits.
    measured_block const& last = points.back();
    measured_block const& before = points[points.size() - 2];
    for (pass const p : {pass::forward, pass::backward}) {
      std::int64_t const rise = (time_of(last, p) - time_of(before, p)) / (last.keys - before.keys);
      require(rise <= most_ps_per_key, "the last two measured points rise by ", rise,
              p == pass::forward ? " ps a key forward" : " ps a key backward", ", expected at most ", most_ps_per_key);
    }
  }

  /// Sum of the curve over `count` numbers of keys from a knot's on.
  [[nodiscard]] static int128 sum_from(knot const& k, std::int64_t count) noexcept {
    return k.value * count + k.slope * (static_cast<int128>(count) * (count - 1) / 2);
  }
  [[nodiscard]] static knot const& knot_before(std::vector<knot> const& curve, std::int64_t keys) {
    auto const after = std::ranges::upper_bound(curve, keys, {}, &knot::keys);
    return after == curve.begin() ? curve.front() : *std::prev(after);
  }
  [[nodiscard]] static int128 at(std::vector<knot> const& curve, std::int64_t keys) {
    knot const& k = knot_before(curve, keys);
    return k.value + k.slope * std::max<std::int64_t>(0, keys - k.keys);
  }
  /// Sum of the curve over 1 to `keys`.
  [[nodiscard]] static int128 sum_to(std::vector<knot> const& curve, std::int64_t keys) {
    knot const& k = knot_before(curve, keys);
    return keys < k.keys ? k.value * keys : k.below + sum_from(k, keys - k.keys + 1);
  }

  /// Sum over rows `[0, n)` of one head.
  [[nodiscard]] static int128 rows_below(tile_shape const& t, std::vector<knot> const& curve, std::int64_t n) {
    switch (t.mask.kind) {
      case mask_kind::full:
        return at(curve, t.length) * n;
      case mask_kind::window:
        if (n > t.mask.width_tokens) {
          return sum_to(curve, t.mask.width_tokens) + at(curve, t.mask.width_tokens) * (n - t.mask.width_tokens);
        }
        break;
      case mask_kind::causal:
        break;
    }
    return sum_to(curve, n);
  }

  [[nodiscard]] static int128 first_row(tile_shape const& t, std::vector<knot> const& curve) {
    switch (t.mask.kind) {
      case mask_kind::full:
        return at(curve, t.length);
      case mask_kind::window:
        return at(curve, std::min(t.q_begin + 1, t.mask.width_tokens));
      case mask_kind::causal:
        break;
    }
    return at(curve, t.q_begin + 1);
  }

  [[nodiscard]] static std::int64_t picoseconds(tile_shape const& t, std::vector<knot> const& curve) {
    int128 const packed = static_cast<int128>(t.q_end - t.q_begin) * t.heads;
    int128 const unfilled = ceil_div(packed, row_block) * row_block - packed;
    // What is far beyond 64 bits is cut off before the heads are counted.
    int128 const rows = rows_below(t, curve, t.q_end) - rows_below(t, curve, t.q_begin);
    constexpr int128 scale = static_cast<int128>(row_block) << fraction_bits;
    int128 const most = static_cast<int128>(1) << 100;
    int128 const ps =
        rows > most ? most : ceil_div(rows * t.heads + unfilled * std::min(first_row(t, curve), most), scale);
    if (!fits_int64(ps)) {
      throw range_error(message("work of rows [", t.q_begin, ", ", t.q_end, ") of a segment of ", t.length,
                                " tokens times ", t.heads, " heads is beyond the picoseconds that 64 bits hold"));
    }
    return static_cast<std::int64_t>(ps);
  }

  std::vector<knot> forward_;
  std::vector<knot> backward_;
};
static_assert(timing_cost_model<tabulated>);

/// What a kernel of these rates would have been measured to take, at powers of two from 128 to 2^20 keys.
///
/// A stand-in where nobody has measured: it charges visible keys where `roofline` charges whole blocks. Pre: the rates
/// are valid. `head_dim` channels.
[[nodiscard]] inline std::vector<measured_block> sample_blocks(attention_rates const& rates, std::int32_t head_dim) {
  std::vector<measured_block> points;
  for (std::int64_t keys = 128; keys <= std::int64_t{1} << 20; keys *= 2) {
    auto const ps = [&](std::int64_t flop_per_channel, std::int64_t rate) {
      int128 const flop = static_cast<int128>(flop_per_channel) * head_dim * keys * 128;
      return static_cast<std::int64_t>(flop * 1'000'000'000'000 / rate);
    };
    points.push_back({keys, ps(4, rates.forward_flop_per_second) + rates.forward_block_ps,
                      ps(10, rates.backward_flop_per_second) + rates.backward_block_ps});
  }
  return points;
}

}  // namespace libra
