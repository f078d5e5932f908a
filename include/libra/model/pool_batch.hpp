#pragma once

#include <libra/core/ids.hpp>
#include <libra/core/wide.hpp>
#include <libra/model/home.hpp>
#include <libra/model/packing.hpp>
#include <libra/model/shape.hpp>
#include <libra/model/speeds.hpp>
#include <libra/model/tile.hpp>
#include <libra/model/work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra {

/// A segment and where it lies in its pool: the slot, and the position of its first token in the packed sequence.
struct placed_segment {
  segment what;
  sequence_id sequence;
  slot_id slot;
  std::int64_t position{};

  friend constexpr bool operator==(placed_segment const&, placed_segment const&) = default;
};

/// A shard of a packed sequence: the slot that has the sequence, and which of its `cp` shards.
struct home_shard {
  slot_id slot;
  std::int32_t number{};

  friend constexpr bool operator==(home_shard const&, home_shard const&) = default;
};

/// Everything that the ranks of one pool compute in one attention call.
struct pool_batch {
  attention_shape shape;
  home_layout home;
  std::int32_t slots{};
  /// Number of the pool's first rank in the job; tells which ranks share a node.
  std::int64_t first_rank{};
  /// By slot, then in home-layout order.
  std::vector<placed_segment> segments;
  /// Zigzag sharding only; `number_rows` fills both. Shape: `[segments, cp]`, the local row of a segment's first row on
  /// each rank of its group, and `[ranks]`, the rows of each rank.
  std::vector<std::int64_t> zigzag_begin{};
  std::vector<std::int64_t> zigzag_rows{};
  /// Relative speed of each rank. Shape: `[ranks]`; empty: all 1.
  std::vector<std::int32_t> speeds_permille{};
  /// Each next shard of a sequence lies so many groups further, on the rank of its own number there. 0: all in the
  /// slot's own group. Contiguous shards only.
  std::int32_t stride{};

  /// Numbers the local rows of zigzag shards. Needed once all segments are there; contiguous shards need no numbers.
  void number_rows() {
    if (home.kind == sharding::contiguous) {
      return;
    }
    auto const cp = static_cast<std::size_t>(home.cp);
    zigzag_begin.assign(segments.size() * cp, 0);
    zigzag_rows.assign(static_cast<std::size_t>(ranks()), 0);
    for (std::size_t s = 0; s < segments.size(); ++s) {
      for (std::int32_t c = 0; c < home.cp; ++c) {
        std::int64_t& rows = zigzag_rows[rank_of(segments[s].slot, c).index()];
        zigzag_begin[s * cp + static_cast<std::size_t>(c)] = rows;
        rows += chunk(segment_id(s), c).size() + chunk(segment_id(s), 2 * home.cp - 1 - c).size();
      }
    }
  }

  /// The i-th of the `2 * cp` chunks that zigzag sharding cuts a segment into.
  [[nodiscard]] row_range chunk(segment_id s, std::int32_t i) const noexcept {
    std::int64_t const chunks = 2 * std::int64_t{home.cp};
    return {i * length(s) / chunks, (i + 1) * length(s) / chunks};
  }

  [[nodiscard]] std::int32_t ranks() const noexcept { return slots * home.cp; }
  [[nodiscard]] std::int32_t speed_of(rank_id r) const noexcept {
    return speeds_permille.empty() ? unit_speed_permille : speeds_permille[r.index()];
  }
  /// The sum of the speeds of ranks `[first, last)`, in thousandths.
  [[nodiscard]] std::int64_t speed_of(std::int32_t first, std::int32_t last) const noexcept {
    std::int64_t sum = 0;
    for (std::int32_t r = first; r < last; ++r) {
      sum += speed_of(rank_id(r));
    }
    return sum;
  }
  /// The rank that holds shard `c` of a slot's sequence.
  [[nodiscard]] rank_id rank_of(slot_id slot, std::int32_t c) const noexcept {
    return rank_id((slot.value + c * stride) % slots * home.cp + c);
  }
  /// The shard that a rank holds: the tokens that it loads.
  [[nodiscard]] home_shard held_by(rank_id r) const noexcept {
    std::int32_t const c = r.value % home.cp;
    std::int32_t const group = r.value / home.cp;
    return {slot_id(((group - c * stride) % slots + slots) % slots), c};
  }
  /// The number of the rank that holds a shard if every sequence lies in its slot's own group.
  [[nodiscard]] rank_id usual_rank(home_shard const& s) const noexcept {
    return rank_id(s.slot.value * home.cp + s.number);
  }
  [[nodiscard]] placed_segment const& operator[](segment_id s) const noexcept { return segments[s.index()]; }
  [[nodiscard]] std::int64_t length(segment_id s) const noexcept { return segments[s.index()].what.length; }
  [[nodiscard]] std::int64_t local_tokens(rank_id r) const noexcept {
    return home.kind == sharding::zigzag ? zigzag_rows[r.index()] : home.local_tokens(r.value % home.cp);
  }

  /// The rank that holds one token of a segment outside attention.
  [[nodiscard]] rank_id home_of(segment_id s, std::int64_t token) const {
    rank_id home_rank;
    for_each_home(s, {token, token + 1}, [&](rank_id r, row_range, std::int64_t) { home_rank = r; });
    return home_rank;
  }
  /// True when one rank holds all of `tokens` in consecutive local rows. Pre: they are not empty.
  [[nodiscard]] bool one_home(segment_id s, row_range tokens) const {
    int pieces = 0;
    for_each_home(s, tokens, [&](rank_id, row_range, std::int64_t) { ++pieces; });
    return pieces == 1;
  }

  /// Calls `visit(rank, tokens, local_begin)` for each run of the segment's `tokens` that one rank holds in consecutive
  /// local rows, in order.
  template <class Visit>
  void for_each_home(segment_id s, row_range tokens, Visit visit) const {
    if (home.kind == sharding::zigzag) {
      for_each_chunk(s, tokens, visit);
      return;
    }
    placed_segment const& where = segments[s.index()];
    home.for_each_piece({where.position + tokens.begin, where.position + tokens.end},
                        [&](std::int32_t c, row_range positions, std::int64_t local_begin) {
                          visit(rank_of(where.slot, c),
                                row_range{positions.begin - where.position, positions.end - where.position},
                                local_begin);
                        });
  }

  /// A tile as a cost model sees it.
  [[nodiscard]] tile_shape shape_of(tile const& t) const noexcept {
    return {t.q_begin, t.q_end, length(t.segment), t.head_end - t.head_begin, shape.head_dim, shape.mask};
  }

  friend bool operator==(pool_batch const&, pool_batch const&) = default;

 private:
  /// `for_each_home` under zigzag sharding: rank c holds chunk c, then chunk `2 * cp - 1 - c`.
  template <class Visit>
  void for_each_chunk(segment_id s, row_range tokens, Visit& visit) const {
    std::int32_t const cp = home.cp;
    std::int64_t const all = length(s);
    for (std::int64_t at = tokens.begin; at < tokens.end;) {
      // Chunk i begins at i * all / chunks, rounded down; the same rule as for shards.
      auto const i = static_cast<std::int32_t>(((at + 1) * 2 * cp - 1) / all);
      std::int32_t const c = i < cp ? i : 2 * cp - 1 - i;
      // The last rank's two chunks meet in the middle and are one run.
      std::int64_t const end = std::min(tokens.end, chunk(s, i == cp - 1 ? cp : i).end);
      std::int64_t const before = i < cp ? 0 : chunk(s, c).size();
      visit(rank_of(segments[s.index()].slot, c), row_range{at, end},
            zigzag_begin[s.index() * static_cast<std::size_t>(cp) + static_cast<std::size_t>(c)] + before + at -
                chunk(s, i).begin);
      at = end;
    }
  }
};

/// How keys and values reach the tiles of a segment.
enum class key_flow : std::uint8_t {
  gather,  ///< every tile's rank gathers all keys that its rows see
  ring,    ///< the ranks that share a segment and heads pass their own rows' keys around; results are accumulated
};

/// A dispatcher's result.
struct pool_dispatch {
  std::vector<tile> forward;
  std::vector<tile> backward;
  /// Ranks of the largest group that is allowed to exchange.
  std::int32_t ranks_per_exchange{};
  /// Ranks that can never get work (fewer heads than ranks under head parallelism).
  std::int32_t idle_ranks{};
  key_flow flow{key_flow::gather};
  /// What both passes are expected to take, and how much of it because work and what it needs have to travel.
  /// Picoseconds; 0 where the dispatcher does not say.
  int128 expected_ps{};
  int128 exchange_ps{};

  [[nodiscard]] std::vector<tile> const& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }

  friend bool operator==(pool_dispatch const&, pool_dispatch const&) = default;
};

}  // namespace libra
