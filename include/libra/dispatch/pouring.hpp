#pragma once

#include <libra/core/wide.hpp>
#include <libra/cost/concept.hpp>
#include <libra/model/pool_batch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::detail {

/// The finest cut: rows in multiples of `rows`, heads in blocks of `heads`.
struct tile_unit {
  std::int64_t rows{};
  std::int32_t heads{};
};

/// Spreads one pass of a pool over its ranks: fills every rank up to a common level, home first.
template <cost_model Cost>
class pouring {
 public:
  pouring(pool_batch const& batch, Cost const& cost, pass p) : batch_(batch), cost_(cost), pass_(p) {
    for (std::size_t s = 0; s < batch.segments.size(); ++s) {
      total_ += static_cast<int128>(work_of(segment_id(s), {0, batch.length(segment_id(s))}, batch.shape.group())) *
                batch.shape.kv_heads;
    }
    grain_ = total_ / (int128{grains_per_share} * std::max(1, batch.ranks()));
    unit_ = choose_unit();
    list_items();
  }

  [[nodiscard]] std::vector<tile> run() {
    // Cuts fall on units, so a level may leave some work over; it then rises by what was left. The level stays within
    // a unit of the mean unless the work is too coarse for so many ranks, where it grows faster.
    int128 level = ceil_div(total_, batch_.ranks());
    for (int attempt = 0;; ++attempt) {
      int128 const left = fill(level);
      if (left == 0) {
        break;
      }
      int128 const rise = ceil_div(left, batch_.ranks());
      level += attempt < 8 ? rise : std::max(rise, level / 16 + 1);
    }
    std::ranges::sort(tiles_, {}, [](tile const& t) { return std::tuple(t.rank, t.segment, t.head_begin, t.q_begin); });
    return std::move(tiles_);
  }

 private:
  /// A rank's share is this many grains: the precision of the balance, and the least piece worth cutting off.
  static constexpr std::int32_t grains_per_share = 400;

  /// Rows `[begin, length)` of one block of heads that no rank has taken yet.
  struct item {
    segment_id segment;
    std::int32_t head_begin{};
    std::int32_t head_end{};
    std::int64_t begin{};
  };

  [[nodiscard]] std::int64_t work_of(segment_id s, row_range rows, std::int32_t heads) const {
    return cost_(tile_shape{rows.begin, rows.end, batch_.length(s), heads, batch_.shape.head_dim, batch_.shape.mask})
        .of(pass_);
  }

  /// The coarsest unit whose heaviest instance is at most a grain; else the finest.
  [[nodiscard]] tile_unit choose_unit() const {
    std::int32_t const group = batch_.shape.group();
    std::vector<tile_unit> choices;
    for (std::int64_t const rows : {128, 64, 32, 16}) {
      choices.push_back({rows, group});
    }
    for (std::int32_t heads = group; heads > 1;) {
      heads = (heads + 1) / 2;
      choices.push_back({16, heads});
    }
    auto const longest =
        std::ranges::max_element(batch_.segments, {}, [](placed_segment const& s) { return s.what.length; });
    if (longest == batch_.segments.end()) {
      return choices.front();
    }
    segment_id const s(static_cast<std::size_t>(longest - batch_.segments.begin()));
    std::int64_t const length = longest->what.length;
    for (tile_unit const& unit : choices) {
      int128 const heaviest = work_of(s, {std::max<std::int64_t>(0, length - unit.rows), length}, unit.heads);
      if (heaviest <= grain_) {
        return unit;
      }
    }
    return choices.back();
  }

  /// Lists the items of every segment, short segments first, so that the long ones are what is left to move.
  void list_items() {
    std::vector<segment_id> order;
    for (std::size_t s = 0; s < batch_.segments.size(); ++s) {
      order.emplace_back(s);
    }
    std::ranges::stable_sort(order, {}, [&](segment_id s) { return batch_.length(s); });
    std::int32_t const group = batch_.shape.group();
    for (segment_id const s : order) {
      for (std::int32_t first = 0; first < batch_.shape.q_heads; first += group) {
        for (std::int32_t h = first; h < first + group; h += unit_.heads) {
          items_.push_back({s, h, std::min(h + unit_.heads, first + group), 0});
        }
      }
    }
  }

  /// Fills every rank up to `level` and returns the work that found no place.
  int128 fill(int128 level) {
    tiles_.clear();
    room_.assign(static_cast<std::size_t>(batch_.ranks()), level);
    left_ = items_;
    pour_into([&](item const& i) { return home_ranks(i); });
    pour_into([&](item const& i) { return group_ranks(i); });
    pour_surplus();
    int128 left = 0;
    for (item const& i : left_) {
      left += work_of(i.segment, {i.begin, batch_.length(i.segment)}, i.head_end - i.head_begin);
    }
    return left;
  }

  struct rank_span {
    std::int32_t first{};
    std::int32_t last{};
  };
  [[nodiscard]] rank_span home_ranks(item const& i) const {
    if (batch_.home.kind == sharding::zigzag) {
      return group_ranks(i);  // every rank of the group holds some of it
    }
    return {batch_.home_of(i.segment, 0).value, batch_.home_of(i.segment, batch_.length(i.segment) - 1).value + 1};
  }
  [[nodiscard]] rank_span group_ranks(item const& i) const {
    std::int32_t const first = batch_[i.segment].slot.value * batch_.home.cp;
    return {first, first + batch_.home.cp};
  }

  /// Gives each item, in order, to the ranks that `candidates` names for it, as far as they have room.
  template <class Candidates>
  void pour_into(Candidates candidates) {
    std::size_t kept = 0;
    for (item i : left_) {
      rank_span const ranks = candidates(i);
      bool finished = false;
      for (std::int32_t r = ranks.first; r < ranks.last && !finished; ++r) {
        finished = take(i, rank_id(r));
      }
      if (!finished) {
        left_[kept++] = i;
      }
    }
    left_.resize(kept);
  }

  /// Pours what is left over all ranks in turn: a rank is filled before the next is begun.
  void pour_surplus() {
    std::int32_t r = 0;
    std::size_t kept = 0;
    for (item i : left_) {
      while (r < batch_.ranks() && !take(i, rank_id(r))) {
        ++r;
      }
      if (r == batch_.ranks()) {
        left_[kept++] = i;
      }
    }
    left_.resize(kept);
  }

  /// Takes rows from the front of `i` for rank `r`, as many whole units as fit. True when nothing of the item is left.
  bool take(item& i, rank_id r) {
    int128& room = room_[r.index()];
    std::int32_t const heads = i.head_end - i.head_begin;
    std::int64_t const length = batch_.length(i.segment);
    std::int64_t end = length;
    if (work_of(i.segment, {i.begin, length}, heads) > room) {
      // A crumb is not worth an exchange: cut only where a whole grain fits.
      if (room < grain_) {
        return false;
      }
      end = last_row_within(i, room, heads, length);
    }
    if (end > i.begin) {
      room -= work_of(i.segment, {i.begin, end}, heads);
      tiles_.push_back({i.segment, r, i.head_begin, i.head_end, i.begin, end});
      i.begin = end;
    }
    return i.begin == length;
  }

  /// The largest multiple of the unit `end` with rows `[i.begin, end)` within `room`. Pre: the whole item is not.
  [[nodiscard]] std::int64_t last_row_within(item const& i, int128 room, std::int32_t heads,
                                             std::int64_t length) const {
    std::int64_t fits = i.begin / unit_.rows;
    std::int64_t exceeds = (length + unit_.rows - 1) / unit_.rows;
    while (exceeds - fits > 1) {
      std::int64_t const middle = fits + (exceeds - fits) / 2;
      (work_of(i.segment, {i.begin, middle * unit_.rows}, heads) <= room ? fits : exceeds) = middle;
    }
    return fits * unit_.rows;
  }

  pool_batch const& batch_;
  Cost const& cost_;
  pass pass_;
  int128 total_{};
  int128 grain_{};
  tile_unit unit_{};
  std::vector<item> items_;
  std::vector<item> left_;
  std::vector<int128> room_;
  std::vector<tile> tiles_;
};

/// The tiles of one pass, by rank, segment, head and row.
template <cost_model Cost>
[[nodiscard]] std::vector<tile> pour(pool_batch const& batch, Cost const& cost, pass p) {
  return pouring<Cost>(batch, cost, p).run();
}

}  // namespace libra::detail
