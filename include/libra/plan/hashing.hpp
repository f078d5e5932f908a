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
inline void add_to(hasher& h, segment const& s) noexcept { h.add(s.document.value).add(s.offset).add(s.length); }
inline void add_to(hasher& h, row_range const& r) noexcept { h.add(r.begin).add(r.end); }
inline void add_to(hasher& h, region const& r) noexcept {
  h.add(static_cast<std::uint8_t>(r.what)).add(r.segment.value).add(r.head_begin).add(r.head_end);
  add_to(h, r.tokens);
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
    h.add(s.sequence.value).add(s.slot.value).add(s.position);
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
    h.add(t.segment.value).add(t.rank.value).add(t.head_begin).add(t.head_end).add(t.q_begin).add(t.q_end);
  }
  return h.finish();
}

inline void add_to(hasher& h, program const& p) noexcept {
  h.add(p.workspace_bytes).add(p.ops.size());
  for (op const& o : p.ops) {
    h.add(static_cast<std::uint8_t>(o.kind)).add(static_cast<std::uint8_t>(o.on)).add(o.round);
    for (std::int32_t const after : o.after) {
      h.add(after);
    }
    h.add(o.items.begin).add(o.items.end).add(o.receives.begin).add(o.receives.end);
  }
  for (auto const* transfers : {&p.sends, &p.receives}) {
    h.add(transfers->size());
    for (transfer const& t : *transfers) {
      add_to(h, t.what);
      h.add(t.peer.value).add(t.at.code());
    }
  }
  h.add(p.tiles.size());
  for (tile_task const& t : p.tiles) {
    h.add(t.segment.value).add(t.head_begin).add(t.head_end);
    add_to(h, t.rows);
    add_to(h, t.keys);
    h.add(static_cast<std::uint8_t>(t.part));
    for (std::size_t x = 0; x < tensor_count; ++x) {
      if (!is_part(static_cast<tensor>(x))) {
        h.add(t.at[x].code());
      } else if (t.at[x] != location::nowhere()) {  // no tile has all of them
        h.add(static_cast<std::uint8_t>(x)).add(t.at[x].code());
      }
    }
  }
  h.add(p.clears.size());
  for (region_task const& t : p.clears) {
    add_to(h, t.what);
    h.add(t.at.code());
  }
  h.add(p.dots.size());
  for (dot_task const& t : p.dots) {
    add_to(h, t.what);
    h.add(t.at.code());
    if (t.d_o != t.at || t.o != t.at) {  // only where rings keep their outputs
      h.add(t.d_o.code()).add(t.o.code());
    }
  }
  h.add(p.reduces.size());
  for (reduce_task const& t : p.reduces) {
    add_to(h, t.what);
    h.add(t.into.code()).add(t.first).add(t.last);
  }
  for (location const at : p.partials) {
    h.add(at.code());
  }
  if (!p.kept.empty()) {
    h.add(p.kept_bytes).add(p.kept.size());
    for (region_task const& t : p.kept) {
      add_to(h, t.what);
      h.add(t.at.code());
    }
  }
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
