#pragma once

#include <libra/core/wide.hpp>
#include <libra/cost/concept.hpp>
#include <libra/plan/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra {

/// What a pool's programs move and keep, for one layer, forward and backward.
struct pool_traffic {
  std::int64_t max_bytes_sent{};      ///< the rank that sends most
  std::int64_t max_bytes_received{};  ///< the rank that receives most
  int128 total_bytes_sent{};          ///< all ranks
  std::int64_t workspace_bytes{};     ///< the largest workspace of a rank in either pass
  std::int64_t kept_bytes{};          ///< of it, what a rank keeps from the forward to the backward pass at most
};

/// Complexity: linear in the programs' transfers. Copies inside a rank are not traffic.
[[nodiscard]] inline pool_traffic traffic_of(pool_plan const& plan) {
  std::vector<std::int64_t> sent(static_cast<std::size_t>(plan.batch.ranks()));
  std::vector<std::int64_t> received(sent.size());
  pool_traffic traffic;
  for (pool_program const* p : {&plan.forward, &plan.backward}) {
    for (std::size_t r = 0; r < p->ranks.size(); ++r) {
      auto const sum = [&](std::vector<transfer> const& transfers) {
        std::int64_t bytes = 0;
        for (transfer const& t : transfers) {
          bytes += t.peer.index() == r ? 0
                                       : t.what.tokens.size() * t.what.heads() *
                                             head_row_bytes(t.what.what, plan.batch.shape, p->width);
        }
        return bytes;
      };
      sent[r] += sum(p->ranks[r].sends);
      received[r] += sum(p->ranks[r].receives);
      traffic.workspace_bytes = std::max(traffic.workspace_bytes, p->ranks[r].workspace_bytes);
      traffic.kept_bytes = std::max(traffic.kept_bytes, p->ranks[r].kept_bytes);
    }
  }
  for (std::size_t r = 0; r < sent.size(); ++r) {
    traffic.max_bytes_sent = std::max(traffic.max_bytes_sent, sent[r]);
    traffic.max_bytes_received = std::max(traffic.max_bytes_received, received[r]);
    traffic.total_bytes_sent += sent[r];
  }
  return traffic;
}

/// The part of a pool's forward pass that needs no exchange: tiles computed where their rows and keys live.
struct pool_locality {
  int128 local_rows{};  ///< query rows times query heads
  int128 rows{};
  int128 local_work{};
  int128 work{};
};

/// Errors: `range_error` from the cost model. Complexity: linear in the tiles.
template <cost_model Cost>
[[nodiscard]] pool_locality locality_of(pool_plan const& plan, Cost const& cost) {
  pool_locality result;
  for (tile const& t : plan.dispatch.forward) {
    row_range const keys = plan.batch.shape.mask.panel(t.q_begin, t.q_end, plan.batch.length(t.segment));
    row_range const all{std::min(keys.begin, t.q_begin), std::max(keys.end, t.q_end)};
    bool const local = plan.batch.home_of(t.segment, all.begin) == t.rank && plan.batch.one_home(t.segment, all);
    int128 const rows = static_cast<int128>(t.q_end - t.q_begin) * (t.head_end - t.head_begin);
    int128 const amount = cost(plan.batch.shape_of(t)).forward;
    result.rows += rows;
    result.work += amount;
    result.local_rows += local ? rows : 0;
    result.local_work += local ? amount : 0;
  }
  return result;
}

}  // namespace libra
