#pragma once

#include <libra/core/ids.hpp>
#include <libra/model/home.hpp>
#include <libra/model/packing.hpp>
#include <libra/model/shape.hpp>
#include <libra/model/tile.hpp>
#include <libra/model/work.hpp>

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

/// Everything that the ranks of one pool compute in one attention call.
struct pool_batch {
  attention_shape shape;
  home_layout home;
  std::int32_t slots{};
  /// Number of the pool's first rank in the job; tells which ranks share a node.
  std::int64_t first_rank{};
  /// By slot, then in home-layout order.
  std::vector<placed_segment> segments;

  [[nodiscard]] std::int32_t ranks() const noexcept { return slots * home.cp; }
  [[nodiscard]] rank_id rank_of(slot_id slot, std::int32_t c) const noexcept {
    return rank_id(slot.value * home.cp + c);
  }
  [[nodiscard]] placed_segment const& operator[](segment_id s) const noexcept { return segments[s.index()]; }
  [[nodiscard]] std::int64_t length(segment_id s) const noexcept { return segments[s.index()].what.length; }
  [[nodiscard]] std::int64_t local_tokens(rank_id r) const noexcept { return home.local_tokens(r.value % home.cp); }

  /// The rank that holds one token of a segment outside attention.
  [[nodiscard]] rank_id home_of(segment_id s, std::int64_t token) const noexcept {
    return rank_of(segments[s.index()].slot, home.rank_of(segments[s.index()].position + token));
  }
  /// True when one rank holds all of `tokens`. Pre: they are not empty.
  [[nodiscard]] bool one_home(segment_id s, row_range tokens) const noexcept {
    return home_of(s, tokens.begin) == home_of(s, tokens.end - 1);
  }

  /// Calls `visit(rank, tokens, local_begin)` for each run of the segment's `tokens` that one rank holds, in order.
  template <class Visit>
  void for_each_home(segment_id s, row_range tokens, Visit visit) const {
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
};

/// A dispatcher's result.
struct pool_dispatch {
  std::vector<tile> forward;
  std::vector<tile> backward;
  /// Ranks of the largest group that is allowed to exchange.
  std::int32_t ranks_per_exchange{};
  /// Ranks that can never get work (fewer heads than ranks under head parallelism).
  std::int32_t idle_ranks{};

  [[nodiscard]] std::vector<tile> const& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }

  friend bool operator==(pool_dispatch const&, pool_dispatch const&) = default;
};

}  // namespace libra
