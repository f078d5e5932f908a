#pragma once

#include <libra/core/digest.hpp>
#include <libra/model/layout.hpp>
#include <libra/model/packing.hpp>
#include <libra/model/placement.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/model/topology.hpp>
#include <libra/program/ops.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

/// Digests of the parts of a plan. Every field that a rank acts on is hashed; nothing that depends on time, paths or
/// addresses is. Complexity: linear.

[[nodiscard]] constexpr digest digest_of(std::span<std::int64_t const> lengths) noexcept {
  hasher h;
  h.add(lengths.size());
  for (std::int64_t const length : lengths) {
    h.add(length);
  }
  return h.finish();
}

inline void add_to(hasher& h, std::span<std::int32_t const> values) noexcept {
  h.add(values.size());
  for (std::int32_t const value : values) {
    h.add(value);
  }
}
inline void add_to(hasher& h, layout const& l) noexcept {
  h.add(l.window_tokens).add(l.dp).add(l.cp).add(l.pool).add(l.micro_steps);
}
inline void add_to(hasher& h, attention_shape const& s) noexcept {
  h.add(s.q_heads).add(s.kv_heads).add(s.head_dim).add(static_cast<std::uint8_t>(s.mask.kind)).add(s.mask.width_tokens);
}
inline void add_to(hasher& h, topology const& t) noexcept {
  h.add(t.ranks_per_node)
      .add(t.node_bytes_per_second)
      .add(t.network_bytes_per_second)
      .add(t.node_latency_ps)
      .add(t.network_latency_ps);
}
inline void add_to(hasher& h, element_bytes const& w) noexcept { h.add(w.activation).add(w.statistic).add(w.partial); }
inline void add_to(hasher& h, segment const& s) noexcept { h.add(s.document.value, s.offset, s.length); }
/// A region and what belongs to it.
template <class... Integers>
void add_to(hasher& h, region const& r, Integers... more) noexcept {
  h.add(static_cast<std::uint8_t>(r.what), r.segment.value, r.head_begin, r.head_end, r.tokens.begin, r.tokens.end,
        more...);
}

[[nodiscard]] inline digest digest_of(packing const& p) noexcept {
  hasher h;
  h.add(p.window_tokens).add(p.sequences.size());
  for (std::size_t s = 0; s < p.sequences.size(); ++s) {
    h.add(p.sequences[s].size());
    for (segment const& piece : p.sequences[s]) {
      add_to(h, piece);
    }
  }
  return h.finish();
}

[[nodiscard]] inline digest digest_of(placement const& p, pool_partition const& pools) noexcept {
  hasher h;
  h.add(p.dp).add(p.micro_steps).add(pools.begin.size());
  for (std::int32_t const begin : pools.begin) {
    h.add(begin);
  }
  for (sequence_id const s : p.at) {
    h.add(s.value);
  }
  return h.finish();
}

[[nodiscard]] inline digest digest_of(pool_batch const& b) noexcept {
  hasher h;
  add_to(h, b.shape);
  h.add(b.home.window_tokens)
      .add(b.home.cp)
      .add(static_cast<std::uint8_t>(b.home.kind))
      .add(b.slots)
      .add(b.first_rank)
      .add(b.segments.size());
  for (placed_segment const& s : b.segments) {
    add_to(h, s.what);
    h.add(s.sequence.value, s.slot.value, s.position);
  }
  if (!b.speeds_permille.empty()) {
    add_to(h, b.speeds_permille);
  }
  if (b.stride != 0) {
    h.add(b.stride);
  }
  return h.finish();
}

[[nodiscard]] inline digest digest_of(std::span<tile const> tiles) noexcept {
  hasher h;
  h.add(tiles.size());
  for (tile const& t : tiles) {
    h.add(t.segment.value, t.rank.value, t.head_begin, t.head_end, t.q_begin, t.q_end);
  }
  return h.finish();
}

inline void add_to(hasher& h, op const& o) noexcept {
  static_assert(queue_count == 4);
  h.add(static_cast<std::uint8_t>(o.kind), static_cast<std::uint8_t>(o.on), o.round, o.after[0], o.after[1], o.after[2],
        o.after[3], o.items.begin, o.items.end, o.receives.begin, o.receives.end);
}
inline void add_to(hasher& h, transfer const& t) noexcept { add_to(h, t.what, t.peer.value, t.at.code()); }
inline void add_to(hasher& h, tile_task const& t) noexcept {
  h.add(t.segment.value, t.head_begin, t.head_end, t.rows.begin, t.rows.end, t.keys.begin, t.keys.end,
        static_cast<std::uint8_t>(t.part));
  for (std::size_t x = 0; x < tensor_count; ++x) {
    if (t.at[x] != location::nowhere()) {  // no tile has all of them
      h.add(x, t.at[x].code());
    }
  }
}
inline void add_to(hasher& h, region_task const& t) noexcept { add_to(h, t.what, t.at.code()); }
inline void add_to(hasher& h, dot_task const& t) noexcept { add_to(h, t.what, t.at.code(), t.d_o.code(), t.o.code()); }
inline void add_to(hasher& h, reduce_task const& t) noexcept { add_to(h, t.what, t.into.code(), t.first, t.last); }
/// A list, and how long it is.
template <class T>
void add_all_to(hasher& h, std::vector<T> const& list) noexcept {
  h.add(list.size());
  for (T const& each : list) {
    add_to(h, each);
  }
}

inline void add_to(hasher& h, program const& p) noexcept {
  h.add(p.workspace_bytes, p.kept_bytes);
  add_all_to(h, p.ops);
  add_all_to(h, p.sends);
  add_all_to(h, p.receives);
  add_all_to(h, p.tiles);
  add_all_to(h, p.clears);
  add_all_to(h, p.dots);
  add_all_to(h, p.reduces);
  h.add(p.partials.size());
  for (location const at : p.partials) {
    h.add(at.code());
  }
  add_all_to(h, p.kept);
}

[[nodiscard]] inline digest digest_of(pool_program const& p) noexcept {
  hasher h;
  h.add(static_cast<std::uint8_t>(p.direction)).add(p.ranks.size());
  add_to(h, p.width);
  for (program const& rank : p.ranks) {
    add_to(h, rank);
  }
  return h.finish();
}

}  // namespace libra
