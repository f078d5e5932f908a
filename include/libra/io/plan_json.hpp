#pragma once

#include <libra/core/digest.hpp>
#include <libra/core/ids.hpp>
#include <libra/io/json_writer.hpp>
#include <libra/io/plan_report.hpp>
#include <libra/model/packing.hpp>
#include <libra/model/placement.hpp>
#include <libra/model/tile.hpp>
#include <libra/pack/bin_bound.hpp>
#include <libra/plan/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace libra {

/// How long the parts of planning took, in seconds.
struct plan_seconds {
  double pack{};
  double place{};
  double dispatch{};
};

/// Which list a plan was made from, where that is not the list that was given.
///
/// A caller that leaves empty documents out, or shuffles, plans over other positions than the given list's; reports
/// name documents by their index in the given list.
struct document_origin {
  /// Shape: `[positions]`: the given list's index of each. Empty when positions are indices.
  std::span<std::int64_t const> index;
  /// Documents of the given list, and how many of them were left out for being empty.
  std::int64_t documents{};
  std::int64_t empty_documents{};

  [[nodiscard]] std::int64_t operator()(document_id position) const noexcept {
    return index.empty() ? position.value : index[position.index()];
  }
};

namespace detail {

inline void write_packing(json_writer& json, plan_report const& report, document_origin const& origin) {
  packing const& packed = report.batch().packing;
  auto const sequences = static_cast<std::int64_t>(packed.sequences.size());
  json.member("documents", origin.documents);
  json.member("tokens", packed.tokens);
  json.member("sequences", sequences);
  json.member("padding_tokens", packed.padding_tokens());
  json.member("split_documents", packed.split_documents);
  json.member("truncated_tokens", packed.truncated_tokens);
  json.member("dropped_sequences", report.batch().dropped_sequences());
  json.member("efficiency", ratio(packed.tokens, static_cast<int128>(sequences) * packed.window_tokens));
  if (report.detail() == report_detail::tiles) {
    json.array("segments", [&] {
      for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
        for (segment const& part : packed.sequences[s]) {
          json.row(s, origin(part.document), part.offset, part.length);
        }
      }
    });
  }
  json.member("empty_documents", origin.empty_documents);
  json.member("least_sequences", bin_lower_bound(packed));
}

inline void write_placement(json_writer& json, plan_report const& report) {
  batch_plan const& plan = report.batch();
  json.member("global_batches", plan.placement.global_batches());
  json.member("micro_steps", plan.placement.micro_steps);
  json.member("pools_per_step", plan.pools.size());
  if (report.detail() == report_detail::tiles) {
    json.array("work", [&] {
      for (wide_work const& w : plan.work) {
        json.element(w.total());
      }
    });
    json.array("slots", [&] {
      for (std::int32_t m = 0; m < plan.placement.steps(); ++m) {
        for (std::int32_t g = 0; g < plan.pools.size(); ++g) {
          auto const row = plan.placement.pool(micro_step_id(m), pool_id(g), plan.pools);
          for (std::size_t slot = 0; slot < row.size(); ++slot) {
            json.row(row[slot].value, m, g, slot);
          }
        }
      }
    });
  }
  json.member("ulysses_over_mean", plan.certificate.ulysses_over_mean());
  json.member("placed_over_mean", plan.certificate.placed_over_mean());
  json.member("lower_bound_over_mean", plan.certificate.lower_bound_over_mean());
}

inline void write_tiles(json_writer& json, std::string_view key, std::vector<tile> const& tiles,
                        pool_batch const& batch, document_origin const& origin) {
  json.array(key, [&] {
    for (tile const& t : tiles) {
      placed_segment const& where = batch[t.segment];
      json.row(where.sequence.value, origin(where.what.document), t.head_begin, t.head_end,
               where.what.offset + t.q_begin, where.what.offset + t.q_end,
               batch.usual_rank(batch.held_by(t.rank)).value);
    }
  });
}

inline void write_dispatch(json_writer& json, plan_report const& report, document_origin const& origin) {
  json.member("dispatched_over_mean", report.dispatched_over_mean());
  json.member("local_token_share", report.local_token_share());
  json.member("local_work_share", report.local_work_share());
  json.member("max_bytes_sent", report.max_bytes_sent());
  json.member("max_bytes_received", report.max_bytes_received());
  json.member("max_ranks_per_exchange", report.max_ranks_per_exchange());
  json.member("workspace_bytes", report.workspace_bytes());
  json.array("pools", [&] {
    for (pool_report const& p : report.pools()) {
      json.object([&] {
        json.member("micro_step", p.micro_step.value);
        json.member("pool", p.pool.value);
        json.row_member("makespan", p.certificate.makespan.forward, p.certificate.makespan.backward);
        json.row_member("lower_bound", p.certificate.lower_bound.forward, p.certificate.lower_bound.backward);
        json.member("gap", p.certificate.gap());
        if (report.detail() == report_detail::tiles) {
          write_tiles(json, "tiles", p.dispatch.forward, p.batch, origin);
          if (p.dispatch.backward != p.dispatch.forward) {
            write_tiles(json, "tiles_backward", p.dispatch.backward, p.batch, origin);
          }
        }
        json.member("stride", p.stride);
      });
    }
  });
  json.member("idle_ranks", report.idle_ranks());
  json.member("kept_bytes", report.kept_bytes());
}

}  // namespace detail

/// Writes a plan's members into the object that is open: packing, placement, dispatch, seconds, fingerprint.
///
/// With `report_detail::tiles` every segment, slot and tile is written too. Complexity: linear in what is written.
inline void write_members(json_writer& json, plan_report const& report, plan_seconds const& seconds,
                          document_origin const& origin) {
  json.object("packing", [&] { detail::write_packing(json, report, origin); });
  json.object("placement", [&] { detail::write_placement(json, report); });
  json.object("dispatch", [&] { detail::write_dispatch(json, report, origin); });
  json.object("seconds", [&] {
    json.member("pack", seconds.pack);
    json.member("place", seconds.place);
    json.member("dispatch", seconds.dispatch);
  });
  json.member("fingerprint", to_hex(report.fingerprint()));
}

}  // namespace libra
