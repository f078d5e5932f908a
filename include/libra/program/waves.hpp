#pragma once

#include <libra/core/wide.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/check_tile.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/panels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace libra::detail {

/// The batches of a rank: wave 0 and the last two need nothing from elsewhere, waves 1 to `remote` do.
///
/// Wave 0 covers the first inputs' way, the last two the last results'. There are two of these, so that sums of
/// gradients can be taken and sent on between them.
struct wave_numbers {
  std::int32_t remote{};

  [[nodiscard]] constexpr std::int32_t count() const noexcept { return remote + 3; }
  [[nodiscard]] constexpr std::int32_t first_late() const noexcept { return remote + 1; }
  [[nodiscard]] constexpr std::int32_t second_late() const noexcept { return remote + 2; }
};

/// Cuts the tiles of every rank into waves.
class wave_cutter {
 public:
  wave_cutter(pool_batch const& batch, pass direction, element_bytes const& width, std::int32_t waves)
      : batch_(batch),
        direction_(direction),
        width_(width),
        waves_(waves) {}

  /// Groups the pool's tiles by rank and says when each is computed.
  ///
  /// Tiles that need something are cut, at multiples of a key block, into `waves` batches of like work. Those that need
  /// nothing run before and after them, in proportion to how many bytes have to come and go meanwhile; all of them
  /// before if they add to gradients that others add to as well. Shape: `[ranks]`, by wave. Errors: those of
  /// `check_tile`. Complexity: O(n log n) in the tiles.
  [[nodiscard]] std::vector<rank_tiles> operator()(std::span<tile const> tiles) {
    std::vector<rank_tiles> ranks(static_cast<std::size_t>(batch_.ranks()));
    count_tiles(tiles);
    for (tile const& t : tiles) {
      ranks[t.rank.index()].tiles.push_back(refer(t));
    }
    for (rank_tiles& rank : ranks) {
      auto const remote =
          std::stable_partition(rank.tiles.begin(), rank.tiles.end(), [](tile_ref const& t) { return t.local(); });
      std::vector<tile_ref> late(rank.tiles.begin(), remote);
      std::vector<tile_ref> moved(remote, rank.tiles.end());
      rank.tiles.clear();
      schedule_local(late, moved, rank.tiles);
      cut_remote(moved, rank.tiles);
      rank.tiles.insert(rank.tiles.end(), late.begin(), late.end());
    }
    return ranks;
  }

 private:
  void count_tiles(std::span<tile const> tiles) {
    auto const kv_heads = static_cast<std::size_t>(batch_.shape.kv_heads);
    sharing_.assign(batch_.segments.size() * kv_heads, 0);
    for (tile const& t : tiles) {
      check_tile(batch_, t);
      ++sharing(t);
    }
  }
  [[nodiscard]] std::int32_t& sharing(tile const& t) {
    return sharing_[t.segment.index() * static_cast<std::size_t>(batch_.shape.kv_heads) +
                    static_cast<std::size_t>(t.head_begin / batch_.shape.group())];
  }

  [[nodiscard]] tile_ref refer(tile const& t) const {
    row_range const keys = batch_.shape.mask.panel(t.q_begin, t.q_end, batch_.length(t.segment));
    auto const held = [&](row_range tokens) {
      return batch_.home_of(t.segment, tokens.begin) == t.rank && batch_.one_home(t.segment, tokens);
    };
    return {.what = t,
            .keys = keys,
            .kv_head = t.head_begin / batch_.shape.group(),
            .rows_home = held({t.q_begin, t.q_end}),
            .keys_home = held(keys)};
  }

  [[nodiscard]] int128 pairs(tile const& t) const {
    return batch_.shape.mask.pairs(t.q_begin, t.q_end, batch_.length(t.segment)) * (t.head_end - t.head_begin);
  }

  struct way {
    int128 in{};
    int128 out{};
  };
  /// Bytes that must arrive before a rank's first remote tile, and that are left to go after its last.
  [[nodiscard]] way bytes_on_the_way(std::span<tile_ref const> moved) const {
    way rows;
    std::int64_t keys = 0;
    tile_ref const* before = nullptr;
    for (tile_ref const& t : moved) {
      std::int64_t const rows_heads = (t.what.q_end - t.what.q_begin) * (t.what.head_end - t.what.head_begin);
      for (tensor const x : row_inputs(direction_)) {
        rows.in += t.rows_home ? 0 : rows_heads * wire_row_bytes(x, batch_.shape, width_);
      }
      for (tensor const x : row_outputs(direction_)) {
        rows.out += t.rows_home ? 0 : rows_heads * wire_row_bytes(x, batch_.shape, width_);
      }
      bool const same = before != nullptr && before->what.segment == t.what.segment && before->kv_head == t.kv_head;
      keys += same ? std::max<std::int64_t>(0, t.keys.end - before->keys.end) : t.keys.size();
      before = &t;
    }
    int128 const sums = direction_ == pass::backward ? wire_row_bytes(tensor::dk, batch_.shape, width_) : 0;
    return {rows.in / waves_ + int128{2} * keys * wire_row_bytes(tensor::k, batch_.shape, width_),
            rows.out / waves_ + 2 * keys * sums};
  }

  /// Takes from `local` what runs first, and numbers the rest's waves.
  void schedule_local(std::vector<tile_ref>& local, std::span<tile_ref const> moved, std::vector<tile_ref>& first) {
    way const bytes = bytes_on_the_way(moved);
    int128 total = 0;
    for (tile_ref const& t : local) {
      total += pairs(t.what);
    }
    bool const all_first = moved.empty();
    int128 const early =
        all_first || bytes.in + bytes.out == 0 ? total : wide_share(total, bytes.in, bytes.in + bytes.out);
    std::int32_t const last = wave_numbers{waves_}.first_late();
    int128 sum = 0;
    auto const stays = std::stable_partition(local.begin(), local.end(), [&](tile_ref const& t) {
      bool const shared = direction_ == pass::backward && sharing(t.what) != 1;
      bool const now = shared || sum < early;
      sum += now ? pairs(t.what) : 0;
      return now;
    });
    first.assign(local.begin(), stays);
    local.erase(local.begin(), stays);
    int128 const left = total - sum;
    sum = 0;
    for (tile_ref& t : local) {
      t.wave = 2 * sum < left || direction_ == pass::forward ? last : last + 1;
      sum += pairs(t.what);
    }
  }

  [[nodiscard]] static int128 wide_share(int128 total, int128 part, int128 whole) {
    constexpr int128 steps = 1024;
    return total / steps * (part * steps / whole) + total % steps * (part * steps / whole) / steps;
  }

  /// Numbers the waves of tiles that need something, and cuts those that two waves share.
  void cut_remote(std::span<tile_ref> moved, std::vector<tile_ref>& out) const {
    int128 total = 0;
    for (tile_ref const& t : moved) {
      total += pairs(t.what);
    }
    int128 sum = 0;
    std::int32_t wave = 1;
    for (tile_ref t : moved) {
      int128 const all = pairs(t.what);
      int128 done = 0;
      // `wave` ends at total * wave / waves.
      while (wave < waves_ && sum + all > end_of(total, wave)) {
        std::int64_t const cut = cut_row(t.what, end_of(total, wave) - sum - done);
        if (cut > t.what.q_begin && cut < t.what.q_end) {
          tile first = t.what;
          first.q_end = cut;
          out.push_back(refer(first));
          out.back().wave = wave;
          done += pairs(first);
          t.what.q_begin = cut;
        }
        ++wave;
      }
      tile_ref rest = refer(t.what);
      rest.wave = wave;
      out.push_back(rest);
      sum += all;
    }
  }

  [[nodiscard]] int128 end_of(int128 total, std::int32_t wave) const { return total * wave / waves_; }

  /// The last multiple of a key block at which the tile's rows before it hold at most `room` pairs.
  [[nodiscard]] std::int64_t cut_row(tile const& t, int128 room) const {
    std::int64_t fits = t.q_begin / key_block;
    std::int64_t exceeds = t.q_end / key_block + 1;
    while (exceeds - fits > 1) {
      std::int64_t const middle = fits + (exceeds - fits) / 2;
      tile part = t;
      part.q_end = middle * key_block;
      (part.q_end <= t.q_end && pairs(part) <= room ? fits : exceeds) = middle;
    }
    return fits * key_block;
  }

  pool_batch const& batch_;
  pass direction_;
  element_bytes width_;
  std::int32_t waves_;
  /// Shape: `[segments, kv_heads]`. Tiles that work on the same keys.
  std::vector<std::int32_t> sharing_;
};

}  // namespace libra::detail
