#pragma once

#include <libra/core/wide.hpp>
#include <libra/cost/concept.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/model/speeds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::detail {

/// Rows `[begin, end)` of one block of query heads of one key/value head, to be computed by somebody.
struct share {
  segment_id segment;
  std::int32_t head_begin{};
  std::int32_t head_end{};
  std::int64_t begin{};
  std::int64_t end{};

  friend constexpr bool operator==(share const&, share const&) = default;
};

/// One pass of a pool as a cost model sees it, and the finest pieces it is cut into.
template <cost_model Cost>
class pool_work {
 public:
  pool_work(pool_batch const& of, Cost const& cost, pass p) : batch(of), cost_(cost), pass_(p) {
    for (std::size_t s = 0; s < batch.segments.size(); ++s) {
      segment_id const id(s);
      total += static_cast<int128>(work_of({id, 0, batch.shape.group(), 0, batch.length(id)})) * batch.shape.kv_heads;
    }
    grain = total / (int128{grains_per_share} * std::max(1, batch.ranks()));
    choose_unit();
  }

  [[nodiscard]] std::int64_t work_of(share const& s) const {
    return cost_(tile_shape{s.begin, s.end, batch.length(s.segment), s.head_end - s.head_begin, batch.shape.head_dim,
                            batch.shape.mask})
        .of(pass_);
  }

  /// The largest multiple of the unit `end` such that rows `[s.begin, end)` are within `room`. Pre: all rows are not.
  [[nodiscard]] std::int64_t last_row_within(share const& s, int128 room) const {
    std::int64_t fits = s.begin / unit_rows;
    std::int64_t exceeds = (s.end + unit_rows - 1) / unit_rows;
    while (exceeds - fits > 1) {
      std::int64_t const middle = fits + (exceeds - fits) / 2;
      (work_of({s.segment, s.head_begin, s.head_end, s.begin, middle * unit_rows}) <= room ? fits : exceeds) = middle;
    }
    return fits * unit_rows;
  }
  /// The least multiple of the unit `begin` such that rows `[begin, s.end)` are within `room`. Pre: all rows are not.
  [[nodiscard]] std::int64_t first_row_within(share const& s, int128 room) const {
    std::int64_t exceeds = s.begin / unit_rows;
    std::int64_t fits = (s.end + unit_rows - 1) / unit_rows;
    while (fits - exceeds > 1) {
      std::int64_t const middle = exceeds + (fits - exceeds) / 2;
      (work_of({s.segment, s.head_begin, s.head_end, middle * unit_rows, s.end}) <= room ? fits : exceeds) = middle;
    }
    return std::min(fits * unit_rows, s.end);
  }

  [[nodiscard]] pass direction() const noexcept { return pass_; }
  [[nodiscard]] Cost const& cost() const noexcept { return cost_; }

  /// A rank's share is this many grains: the precision of the balance, and the least piece worth cutting off.
  static constexpr std::int32_t grains_per_share = 400;

  pool_batch const& batch;
  int128 total{};
  int128 grain{};
  std::int64_t unit_rows{128};
  std::int32_t unit_heads{1};

 private:
  /// The coarsest unit whose heaviest instance is at most a grain; else the finest.
  void choose_unit() {
    struct unit {
      std::int64_t rows{};
      std::int32_t heads{};
    };
    std::int32_t const group = batch.shape.group();
    std::vector<unit> choices;
    for (std::int64_t const rows : {128, 64, 32, 16}) {
      choices.push_back({rows, group});
    }
    for (std::int32_t heads = group; heads > 1;) {
      heads = (heads + 1) / 2;
      choices.push_back({16, heads});
    }
    auto const longest =
        std::ranges::max_element(batch.segments, {}, [](placed_segment const& s) { return s.what.length; });
    unit chosen = longest == batch.segments.end() ? choices.front() : choices.back();
    if (longest != batch.segments.end()) {
      segment_id const s(static_cast<std::size_t>(longest - batch.segments.begin()));
      std::int64_t const length = longest->what.length;
      auto const fine = std::ranges::find_if(choices, [&](unit const& u) {
        return work_of({s, 0, u.heads, std::max<std::int64_t>(0, length - u.rows), length}) <= grain;
      });
      chosen = fine == choices.end() ? chosen : *fine;
    }
    unit_rows = chosen.rows;
    unit_heads = chosen.heads;
  }

  Cost const& cost_;
  pass pass_;
};

/// Spreads shares over the ranks of a node: fills every rank up to a common level of time, home first.
///
/// Work of other nodes, and of segments that span nodes, is spread over all ranks instead, one head after another: all
/// of a node's ranks need the same keys then, and nodes the same ones at the same time.
template <cost_model Cost>
class pouring {
 public:
  /// Pours `shares` over ranks `[first, last)`; heads of other nodes one after another if `in_turn`. `spans_nodes`:
  /// `[segments]`, those of which several nodes hold some; empty: none.
  pouring(pool_work<Cost> const& work, std::int32_t first, std::int32_t last, std::vector<share> const& shares,
          bool in_turn = true, std::vector<bool> const& spans_nodes = {})
      : work_(work),
        batch_(work.batch),
        first_(first),
        last_(last),
        in_turn_(in_turn),
        speed_(work.batch.speed_of(first, last)) {
    for (std::int32_t r = first; r < last; ++r) {
      fastest_ = std::max(fastest_, batch_.speed_of(rank_id(r)));
    }
    std::vector<own_share> own;
    own.reserve(shares.size());
    for (share const& s : shares) {
      rank_span const home = home_ranks(s);
      bool const spans = !spans_nodes.empty() && spans_nodes[s.segment.index()];
      if (spans || home.first >= home.last) {
        foreign_total_ += add_items(s, home, foreign_);
      } else {
        own.push_back({batch_.length(s.segment), &s, home});
      }
    }
    total_ = foreign_total_;
    // Short segments first, so that the long ones are what is left to move: they are most work for their bytes.
    std::ranges::stable_sort(own, {}, &own_share::length);
    items_.reserve(own.size() * static_cast<std::size_t>(batch_.shape.kv_heads));
    for (own_share const& s : own) {
      total_ += add_items(*s.what, s.home, items_);
    }
    std::ranges::stable_sort(foreign_, {}, [&](item const& i) {
      bool const spans = !spans_nodes.empty() && spans_nodes[i.what.segment.index()];
      return std::tuple(!spans, spans ? i.what.segment : segment_id(), spans ? i.what.head_begin : 0);
    });
  }

  /// What the node takes when all of its ranks take as long: work of a rank at speed 1.
  [[nodiscard]] int128 least_time() const noexcept { return at_speed(total_, speed_); }

  /// Appends the tiles to `tiles`. Ranks may take `time` without anything having to move.
  void run(std::vector<tile>& tiles, int128 time = 0) {
    // Cuts fall on units, so a level may leave some work over; it then rises by what was left. The level stays within
    // a unit of the mean unless the work is too coarse for so many ranks, where it grows faster. It is that of the
    // fastest rank, so that rounding costs the others nothing.
    int128 level = std::max(level_of(total_), time * fastest_ / unit_speed_permille);
    for (int attempt = 0;; ++attempt) {
      int128 const left = fill(level);
      if (left == 0) {
        break;
      }
      int128 const rise = level_of(left);
      level += attempt < 8 ? rise : std::max(rise, level / 16 + 1);
    }
    tiles.insert(tiles.end(), tiles_.begin(), tiles_.end());
  }

 private:
  /// What the fastest rank gets of `work` when all get their share.
  [[nodiscard]] int128 level_of(int128 work) const noexcept { return ceil_div(work * fastest_, speed_); }
  /// What fills rank `r` of this node up to a level of the fastest.
  [[nodiscard]] int128 room_at(int128 level, std::size_t r) const noexcept {
    return ceil_div(level * batch_.speed_of(rank_id(r + static_cast<std::size_t>(first_))), fastest_);
  }

  /// Fills every rank up to `level` and returns the work that found no place.
  int128 fill(int128 level) {
    tiles_.clear();
    room_.assign(static_cast<std::size_t>(last_ - first_), 0);
    // What comes from other nodes is spread evenly, so that every rank has work of its own node to cover its way, and
    // heads follow one another if only the first one's keys shall be waited for.
    std::vector<item> homeless;
    int128 filled = 0;
    int128 poured = 0;
    for (auto first = foreign_.cbegin(); first != foreign_.cend();) {
      auto const last = end_of_lot(first, poured);
      filled = raise(filled, std::min(level, level_of(poured)));
      left_.assign(first, last);
      pour_surplus();
      homeless.insert(homeless.end(), left_.begin(), left_.end());
      first = last;
    }
    raise(filled, level);
    left_.swap(homeless);
    for (item& i : left_) {
      i.home = home_ranks(i.what);  // some of its rows have found a place
    }
    left_.insert(left_.end(), items_.begin(), items_.end());
    pour_into([](item const& i) { return i.home; });
    pour_into([&](item const& i) { return group_ranks(i.what); });
    pour_surplus();
    int128 left = 0;
    for (item const& i : left_) {
      left += i.work;
    }
    return left;
  }

  struct rank_span {
    std::int32_t first{};
    std::int32_t last{};
  };
  /// A share with its home in this node.
  struct own_share {
    std::int64_t length{};  ///< of the segment
    share const* what{};
    rank_span home;
  };
  /// A share of so many heads that a rank takes it whole or cuts its rows.
  struct item {
    share what;
    std::int64_t work{};
    rank_span home;  ///< of the share that it was cut from, in this node
  };

  /// Cuts a share's heads into items; returns their work.
  int128 add_items(share const& s, rank_span home, std::vector<item>& items) const {
    int128 sum = 0;
    item next{s, 0, home};
    std::int32_t heads = 0;
    for (std::int32_t h = s.head_begin; h < s.head_end; h += work_.unit_heads) {
      next.what.head_begin = h;
      next.what.head_end = std::min(h + work_.unit_heads, s.head_end);
      if (std::exchange(heads, next.what.head_end - h) != heads) {
        next.work = work_.work_of(next.what);
      }
      sum += next.work;
      items.push_back(next);
    }
    return sum;
  }

  /// The end of the lot of foreign items that begins at `first`: a key/value head, or several if they are little work.
  /// Adds its work to `poured`.
  [[nodiscard]] auto end_of_lot(std::vector<item>::const_iterator first, int128& poured) const {
    auto const head_of = [&](item const& i) {
      return std::pair(i.what.segment, i.what.head_begin / batch_.shape.group());
    };
    int128 lot = 0;
    auto last = first;
    do {
      lot += last->work;
      ++last;
    } while (last != foreign_.end() &&
             (!in_turn_ || head_of(*last) == head_of(*std::prev(last)) || lot * 8 <= foreign_total_));
    poured += lot;
    return last;
  }
  /// Gives every rank the room between two levels; returns the upper.
  int128 raise(int128 from, int128 to) {
    for (std::size_t r = 0; r < room_.size(); ++r) {
      room_[r] += room_at(to, r) - room_at(from, r);
    }
    return to;
  }

  [[nodiscard]] rank_span inside(std::int32_t first, std::int32_t last) const {
    return {std::max(first, first_), std::min(last, last_)};
  }
  [[nodiscard]] rank_span home_ranks(share const& i) const {
    if (batch_.home.kind == sharding::zigzag) {
      return group_ranks(i);  // every rank of the group holds some of it
    }
    if (batch_.stride != 0) {
      return one_rank(batch_.home_of(i.segment, i.begin));
    }
    return inside(batch_.home_of(i.segment, i.begin).value, batch_.home_of(i.segment, i.end - 1).value + 1);
  }
  [[nodiscard]] rank_span one_rank(rank_id r) const { return inside(r.value, r.value + 1); }
  [[nodiscard]] rank_span group_ranks(share const& i) const {
    if (batch_.stride != 0) {
      return {first_, last_};
    }
    std::int32_t const first = batch_[i.segment].slot.value * batch_.home.cp;
    return inside(first, first + batch_.home.cp);
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
    std::int32_t r = first_;
    std::size_t kept = 0;
    for (item i : left_) {
      while (r < last_ && !take(i, rank_id(r))) {
        ++r;
      }
      if (r == last_) {
        left_[kept++] = i;
      }
    }
    left_.resize(kept);
  }

  /// Takes rows from the front of `i` for rank `r`, as many whole units as fit. True when nothing of the item is left.
  bool take(item& i, rank_id r) {
    int128& room = room_[static_cast<std::size_t>(r.value - first_)];
    share part = i.what;
    std::int64_t work = i.work;
    if (work > room) {
      // A crumb is not worth an exchange: cut only where a whole grain fits.
      if (room < work_.grain) {
        return false;
      }
      part.end = work_.last_row_within(i.what, room);
      work = part.end > part.begin ? work_.work_of(part) : 0;
    }
    if (part.end > part.begin) {
      room -= work;
      tiles_.push_back({part.segment, r, part.head_begin, part.head_end, part.begin, part.end});
      i.what.begin = part.end;
      i.work = i.what.begin < i.what.end ? work_.work_of(i.what) : 0;
    }
    return i.what.begin == i.what.end;
  }

  pool_work<Cost> const& work_;
  pool_batch const& batch_;
  std::int32_t first_{};
  std::int32_t last_{};
  bool in_turn_{};
  std::int64_t speed_{};  ///< of all ranks together
  std::int32_t fastest_{1};
  int128 total_{};
  int128 foreign_total_{};
  std::vector<item> foreign_;  ///< of other nodes, or of segments that span nodes
  std::vector<item> items_;
  std::vector<item> left_;
  std::vector<int128> room_;
  std::vector<tile> tiles_;
};

}  // namespace libra::detail
