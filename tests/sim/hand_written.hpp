#pragma once

#include <libra/model/machine.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>

#include <cstdint>
#include <vector>

namespace libra::sim::test {

/// A machine whose ports carry 1,000 bytes a nanosecond in a node and 100 between nodes: one and ten ps a byte.
inline machine plain_machine(std::int32_t ranks_per_node = 8) {
  return {.name = "plain",
          .source = "test",
          .links = {.ranks_per_node = ranks_per_node,
                    .node_bytes_per_second = 1'000'000'000'000,
                    .network_bytes_per_second = 100'000'000'000,
                    .node_latency_ps = 700,
                    .network_latency_ps = 3000},
          .linear_flop_per_second = 1'000'000'000'000,
          .attention = hopper_flash_attention};
}

/// Tiles take a picosecond a row, batches nothing.
struct row_time {
  std::int64_t operator()(tile_shape const& t, row_range, pass) const { return t.q_end - t.q_begin; }
  [[nodiscard]] std::int64_t launch_ps(pass) const { return 0; }
};

struct parcel {
  std::int32_t peer{};
  std::int64_t bytes{};  ///< a multiple of four
};

/// Programs written op by op. A segment long enough for every tile lies in slot 0.
class hand_written {
 public:
  explicit hand_written(std::int32_t ranks, pass direction = pass::forward) {
    batch.shape = {.q_heads = 1, .kv_heads = 1, .head_dim = 16, .mask = {}};
    batch.home = {.window_tokens = std::int64_t{1} << 40, .cp = ranks};
    batch.slots = 1;
    batch.segments = {{.what = {document_id(0), 0, std::int64_t{1} << 40}, .sequence = {}, .slot = {}, .position = 0}};
    programs.direction = direction;
    programs.ranks.resize(static_cast<std::size_t>(ranks));
  }

  /// One round of a rank: what it sends and what it receives.
  hand_written& exchange(std::int32_t rank, queue on, std::int32_t round, std::vector<parcel> const& sends,
                         std::vector<parcel> const& receives, std::int32_t after_compute = 0) {
    program& p = programs.ranks[static_cast<std::size_t>(rank)];
    op o{.kind = op_kind::exchange, .on = on, .round = round, .after = {}, .items = {}, .receives = {}};
    o.after[static_cast<std::size_t>(queue::compute)] = after_compute;
    o.items = append(p.sends, sends);
    o.receives = append(p.receives, receives);
    p.ops.push_back(o);
    return *this;
  }

  /// A batch of one tile that takes `ps` under `row_time`.
  hand_written& compute(std::int32_t rank, std::int64_t ps, std::int32_t after_fetch = 0,
                        std::int32_t after_deliver = 0) {
    program& p = programs.ranks[static_cast<std::size_t>(rank)];
    auto const first = static_cast<std::uint32_t>(p.tiles.size());
    p.tiles.push_back({.segment = segment_id(0), .head_begin = 0, .head_end = 1, .rows = {0, ps}, .keys = {0, ps}});
    op o{.kind = op_kind::attend,
         .on = queue::compute,
         .round = 0,
         .after = {},
         .items = {first, first + 1},
         .receives = {}};
    o.after[static_cast<std::size_t>(queue::fetch)] = after_fetch;
    o.after[static_cast<std::size_t>(queue::deliver)] = after_deliver;
    p.ops.push_back(o);
    return *this;
  }

  /// A sum of one part that reads and writes 96 bytes a row.
  hand_written& combine(std::int32_t rank, std::int64_t rows, std::int32_t after_deliver = 0) {
    program& p = programs.ranks[static_cast<std::size_t>(rank)];
    auto const first = static_cast<std::uint32_t>(p.reduces.size());
    p.partials.push_back(location::workspace(0));
    auto const part = static_cast<std::uint32_t>(p.partials.size());
    p.reduces.push_back({{tensor::dk, segment_id(0), 0, 1, {0, rows}}, location::home(0), part - 1, part});
    op o{.kind = op_kind::reduce,
         .on = queue::combine,
         .round = 0,
         .after = {},
         .items = {first, first + 1},
         .receives = {}};
    o.after[static_cast<std::size_t>(queue::deliver)] = after_deliver;
    p.ops.push_back(o);
    return *this;
  }

  pool_batch batch;
  pool_program programs;

 private:
  /// Statistics have four bytes a row.
  static item_range append(std::vector<transfer>& all, std::vector<parcel> const& parcels) {
    auto const begin = static_cast<std::uint32_t>(all.size());
    for (parcel const& p : parcels) {
      all.push_back({{tensor::lse, segment_id(0), 0, 1, {0, p.bytes / 4}}, rank_id(p.peer), {}});
    }
    return {begin, static_cast<std::uint32_t>(all.size())};
  }
};

}  // namespace libra::sim::test
