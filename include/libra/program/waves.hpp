#pragma once

#include <libra/core/wide.hpp>
#include <libra/model/node_map.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/check_tile.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/panels.hpp>
#include <libra/program/wave_numbers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::detail {

/// Cuts the tiles of every rank into waves.
class wave_cutter {
 public:
  /// The longest wave over the first.
  static constexpr std::int32_t longest_wave = 8;

  wave_cutter(pool_batch const& batch, node_map const& nodes, pass direction, element_bytes const& width,
              std::int32_t waves, bool kept = false)
      : batch_(batch),
        nodes_(nodes),
        direction_(direction),
        width_(width),
        waves_(waves),
        kept_(kept) {
    for (std::int32_t w = 0; w < waves; ++w) {
      ends_.push_back(ends_.back() + std::min({1 + w, waves - w, longest_wave}));
    }
  }

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
      ranks[t.rank.index()].tiles.push_back(refer(batch_, t));
    }
    for (rank_tiles const& rank : ranks) {
      int128 sum = 0;
      for (tile_ref const& t : rank.tiles) {
        sum += weight(t.what);
      }
      longest_ = std::max(longest_, at_speed(sum, speed_of(rank, ranks)));
    }
    for (rank_tiles& rank : ranks) {
      reach_ = longest_ * speed_of(rank, ranks) / unit_speed_permille;
      order(rank.tiles);
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

  /// About the time of a tile: what its rows see, and half a block more for the blocks that they see in part.
  [[nodiscard]] int128 weight(tile const& t) const {
    return (batch_.shape.mask.pairs(t.q_begin, t.q_end, batch_.length(t.segment)) +
            int128{t.q_end - t.q_begin} * (key_block / 2)) *
           (t.head_end - t.head_begin);
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
      for (tensor const x : fetched_rows(direction_, kept_)) {
        rows.in += t.rows_home ? 0 : rows_heads * head_row_bytes(x, batch_.shape, width_);
      }
      for (tensor const x : row_outputs(direction_)) {
        rows.out += t.rows_home ? 0 : rows_heads * head_row_bytes(x, batch_.shape, width_);
      }
      bool const same = before != nullptr && before->what.segment == t.what.segment && before->kv_head == t.kv_head;
      keys += same ? std::max<std::int64_t>(0, t.keys.end - before->keys.end) : t.keys.size();
      before = &t;
    }
    int128 const brought = kept_ && direction_ == pass::backward ? 0 : head_row_bytes(tensor::k, batch_.shape, width_);
    int128 const sums = direction_ == pass::backward ? head_row_bytes(tensor::dk_part, batch_.shape, width_) : 0;
    return {rows.in / waves_ + int128{2} * keys * brought, rows.out / waves_ + int128{2} * keys * sums};
  }

  /// Puts a rank's tiles into the order they are computed in, with their waves.
  ///
  /// In the middle is what other nodes have to do with. Around it, in proportion to the bytes that have to come before
  /// and go after it, is what needs the own node only, and around that what needs nothing (`most_first`, `most_last`).
  /// What is left of that lies between the tiles in the middle, so that their rows travel in as many rounds as there
  /// are.
  void order(std::vector<tile_ref>& tiles) {
    auto const moved = std::ranges::stable_partition(tiles, [](tile_ref const& t) { return t.local(); }).begin();
    auto const crossing = std::stable_partition(moved, tiles.end(), [&](tile_ref const& t) { return in_node(t.what); });
    local_.assign(tiles.begin(), moved);
    near_.assign(moved, crossing);
    far_.assign(crossing, tiles.end());
    tiles.clear();
    sort_by_density(far_);
    way const bytes = bytes_on_the_way(far_.empty() ? near_ : far_);
    int128 const cover = weight(local_) + (far_.empty() ? 0 : weight(near_));
    int128 const early = bytes.in + bytes.out == 0 ? cover : wide_share(cover, bytes.in, bytes.in + bytes.out);
    int128 const most_early = far_.empty() ? early : std::min(early, most_first(weight(local_)));
    // Sums that others add to as well have to go home in time.
    int128 sum = take_first(local_, most_early, tiles,
                            [&](tile_ref const& t) { return direction_ == pass::backward && sharing(t.what) != 1; });
    auto const none_must = [](tile_ref const&) { return false; };
    first_.clear();
    between_.clear();
    if (far_.empty()) {
      first_.swap(near_);
    } else {
      take_first(near_, most_early - sum, first_, none_must);
      take_first(local_, weight(local_) - most_last(), between_, none_must);
    }
    number(first_, sum, tiles);
    number_between(sum, tiles);
    number(near_, sum, tiles);
    int128 const left = weight(local_);
    int128 done = 0;
    wave_numbers const waves{waves_};
    for (tile_ref& t : local_) {
      t.wave = 2 * done < left || direction_ == pass::forward ? waves.first_late() : waves.second_late();
      done += weight(t.what);
      tiles.push_back(t);
    }
  }

  /// How much may come first where something crosses the network, with `own` that needs nothing. The first inputs take
  /// their time however little there is to do meanwhile; backward is longer, and its sums take longer home.
  [[nodiscard]] int128 most_first(int128 own) const {
    return direction_ == pass::forward ? std::max(reach_ / 5, own * 3 / 4) : std::max(reach_ / 8, own / 2);
  }
  /// How much of what needs nothing may come last there: backward, all that does not come first.
  [[nodiscard]] int128 most_last() const { return direction_ == pass::forward ? reach_ / 8 : reach_; }

  /// Numbers what crosses the network, and spreads what needs nothing between it.
  void number_between(int128& sum, std::vector<tile_ref>& out) const {
    int128 const between = weight(between_);
    int128 const all = sum + weight(far_) + between + weight(near_) + weight(local_);
    // Pairs of rows and keys are no exact measure of time: an eighth less may well take as long.
    int128 const slack = std::max<int128>(0, reach_ * 7 / 8 - all) * 2 / 5;
    int128 const begin = sum;
    number(far_, sum, out, between + slack);
    int128 done = 0;
    for (tile_ref t : between_) {
      int128 const own = weight(t.what);
      t.wave = wave_at(begin + wide_share(sum - begin, done + own / 2, between));
      done += own;
      out.push_back(t);
    }
  }

  /// Moves tiles from `from` to the end of `to`, in order: those that `must` go and others until all that went weigh
  /// `wanted`. Returns what they weigh.
  template <class Must>
  int128 take_first(std::vector<tile_ref>& from, int128 wanted, std::vector<tile_ref>& to, Must must) const {
    int128 taken = 0;
    std::size_t kept = 0;
    for (tile_ref const& t : from) {
      if (must(t) || taken < wanted) {
        taken += weight(t.what);
        to.push_back(t);
      } else {
        from[kept++] = t;
      }
    }
    from.resize(kept);
    return taken;
  }

  [[nodiscard]] int128 weight(std::span<tile_ref const> tiles) const {
    int128 sum = 0;
    for (tile_ref const& t : tiles) {
      sum += weight(t.what);
    }
    return sum;
  }

  /// True when the homes of a tile's rows and keys are in the node of its rank.
  [[nodiscard]] bool in_node(tile const& t) const {
    bool inside = true;
    row_range const keys = batch_.shape.mask.panel(t.q_begin, t.q_end, batch_.length(t.segment));
    row_range const all{std::min(keys.begin, t.q_begin), std::max(keys.end, t.q_end)};
    batch_.for_each_home(t.segment, all, [&](rank_id home, row_range, std::int64_t) {
      inside = inside && nodes_.of(home) == nodes_.of(t.rank);
    });
    return inside;
  }

  [[nodiscard]] static int128 wide_share(int128 total, int128 part, int128 whole) {
    constexpr int128 steps = 1024;
    return total / steps * (part * steps / whole) + total % steps * (part * steps / whole) / steps;
  }

  /// Numbers the waves of tiles that need something, and cuts those that several waves share. `sum` is the weight of
  /// what runs before: a wave is the same time on every rank, so that no round waits for a rank that is behind. A rank
  /// that has time left waits `slack` in between, so that what comes to it and goes spreads over as many rounds.
  void number(std::span<tile_ref const> moved, int128& sum, std::vector<tile_ref>& out, int128 slack = 0) const {
    int128 const total = slack > 0 ? weight(moved) : 0;
    for (tile_ref const& t : moved) {
      int128 const own = weight(t.what);
      int128 const all = total > 0 ? own + wide_share(slack, own, total) : own;
      std::int32_t const first = wave_at(sum);
      std::int32_t const last = wave_at(sum + all - 1);
      std::int64_t const half = (t.what.q_end - t.what.q_begin + 1) / 2;
      for (std::int32_t wave = first; wave <= last; ++wave) {
        auto const until = [&](int128 end) { return wide_share(half, std::clamp<int128>(end - sum, 0, all), all); };
        add_part(t,
                 {static_cast<std::int64_t>(wave == first ? 0 : until(end_of(wave - 1))),
                  static_cast<std::int64_t>(wave == last ? half : until(end_of(wave)))},
                 first == last, wave, out);
      }
      sum += all;
    }
  }

  /// Appends the rows of a tile that are `distance` away from either end.
  ///
  /// Under a causal mask that makes waves of equal work also equal in rows. The heads of a segment begin at different
  /// distances, so that a wave's rows come from many homes.
  void add_part(tile_ref const& of, row_range distance, bool whole, std::int32_t wave,
                std::vector<tile_ref>& out) const {
    tile const& t = of.what;
    if (whole) {
      add(of, t, wave, out);
      return;
    }
    std::int64_t const half = (t.q_end - t.q_begin + 1) / 2;
    std::int64_t const shift = half * (t.head_begin / batch_.shape.group()) / batch_.shape.kv_heads;
    row_range const shifted{distance.begin + shift, distance.end + shift};
    add_ends(of, {std::min(shifted.begin, half), std::min(shifted.end, half)}, wave, out);
    add_ends(of, {std::max(shifted.begin, half) - half, std::max(shifted.end, half) - half}, wave, out);
  }
  void add_ends(tile_ref const& of, row_range distance, std::int32_t wave, std::vector<tile_ref>& out) const {
    tile const& t = of.what;
    auto const aligned = [&](std::int64_t row) { return row / key_block * key_block; };
    std::int64_t const half = (t.q_end - t.q_begin + 1) / 2;
    std::int64_t const middle = t.q_begin + half;
    auto const front = [&](std::int64_t d) { return d == half ? middle : std::max(t.q_begin, aligned(t.q_begin + d)); };
    auto const back = [&](std::int64_t d) {
      return d == half ? middle : d == 0 ? t.q_end : std::max(middle, aligned(t.q_end - d));
    };
    tile first = t;
    first.q_begin = front(distance.begin);
    first.q_end = front(distance.end);
    tile second = t;
    second.q_begin = back(distance.end);
    second.q_end = back(distance.begin);
    if (first.q_end == second.q_begin) {
      first.q_end = second.q_end;
      second.q_begin = second.q_end;
    }
    for (tile const& part : {first, second}) {
      if (part.q_begin < part.q_end) {
        add(of, part, wave, out);
      }
    }
  }

  void add(tile_ref const& of, tile const& part, std::int32_t wave, std::vector<tile_ref>& out) const {
    out.push_back(refer(batch_, part));
    out.back().wave = wave;
    if (kept_) {
      // The passes cut a tile differently, and what is kept of it is the same for both.
      out.back().rows_home = of.rows_home;
      out.back().keys_home = of.keys_home;
    }
  }

  /// Segments with many rows for their work into the middle, where their bytes hide best; of each, one key/value head
  /// after another, so that the keys of the next and the gradients of the last travel meanwhile.
  void sort_by_density(std::vector<tile_ref>& tiles) {
    std::ranges::stable_sort(tiles, {}, [](tile_ref const& t) { return std::tuple(t.what.segment, t.kv_head); });
    struct run {
      std::size_t first{};
      std::size_t last{};
      int128 density{};
    };
    std::vector<run> runs;
    for (std::size_t first = 0; first < tiles.size();) {
      std::size_t last = first;
      int128 work = 0;
      int128 rows = 0;
      for (; last < tiles.size() && tiles[last].what.segment == tiles[first].what.segment; ++last) {
        tile const& t = tiles[last].what;
        work += weight(t);
        rows += int128{t.q_end - t.q_begin} * (t.head_end - t.head_begin);
      }
      runs.push_back({first, last, work / rows});
      first = last;
    }
    std::ranges::stable_sort(runs, {}, [](run const& r) { return -r.density; });
    std::vector<run> sorted(runs.size());
    std::size_t front = 0;
    std::size_t back = runs.size();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      sorted[i % 2 == 0 ? front++ : --back] = runs[i];
    }
    std::vector<tile_ref> result;
    result.reserve(tiles.size());
    for (run const& r : sorted) {
      result.insert(result.end(), tiles.begin() + static_cast<std::ptrdiff_t>(r.first),
                    tiles.begin() + static_cast<std::ptrdiff_t>(r.last));
    }
    tiles = std::move(result);
  }

  [[nodiscard]] std::int32_t speed_of(rank_tiles const& rank, std::vector<rank_tiles> const& ranks) const {
    return batch_.speed_of(rank_id(static_cast<std::size_t>(&rank - ranks.data())));
  }
  [[nodiscard]] int128 end_of(std::int32_t wave) const {
    return reach_ * ends_[static_cast<std::size_t>(wave)] / ends_.back();
  }
  [[nodiscard]] std::int32_t wave_at(int128 sum) const {
    std::int32_t wave = 1;
    while (wave < waves_ && sum >= end_of(wave)) {
      ++wave;
    }
    return wave;
  }

  pool_batch const& batch_;
  node_map const& nodes_;
  pass direction_;
  element_bytes width_;
  std::int32_t waves_;
  bool kept_;
  /// Shape: `[waves + 1]`. How the waves grow and shrink: what travels before the first and after the last is hidden by
  /// little, so these are short, and those in the middle so many times as long at most, which saves launches.
  std::vector<std::int64_t> ends_{0};
  int128 longest_{};  ///< weight of the rank that takes longest, at speed 1
  int128 reach_{};    ///< what the rank at hand does in that time
  std::vector<tile_ref> local_;
  std::vector<tile_ref> near_;
  std::vector<tile_ref> far_;
  std::vector<tile_ref> first_;
  std::vector<tile_ref> between_;
  /// Shape: `[segments, kv_heads]`. Tiles that work on the same keys.
  std::vector<std::int32_t> sharing_;
};

}  // namespace libra::detail
