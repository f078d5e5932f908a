#pragma once

#include <libra/dispatch/concept.hpp>
#include <libra/dispatch/pouring.hpp>

#include <string_view>

namespace libra {

/// Tiled attention pooling: every rank of the pool computes an equal share of the pool's work, as much of it as
/// possible where it is.
///
/// Each pass is dispatched by its own cost. Work stays on its home rank, then in its group, as far as the share
/// allows; short documents stay first, since moving them costs most bytes for their work. The surplus is poured into
/// the slack of the other ranks by the wrap-around rule, in units of at most a quarter percent of the share.
///
/// Complexity: O(n log n) in the segments times key/value heads, plus O(ranks log window).
/// Source: wrap-around rule: McNaughton, "Scheduling with deadlines and loss functions", 1959.
struct pooled {
  static constexpr std::string_view name = "pooled";

  template <cost_model Cost>
  [[nodiscard]] pool_dispatch operator()(pool_batch const& batch, Cost const& cost, topology const&) const {
    pool_dispatch result{.forward = detail::pour(batch, cost, pass::forward),
                         .backward = detail::pour(batch, cost, pass::backward),
                         .ranks_per_exchange = batch.ranks(),
                         .idle_ranks = 0};
    return result;
  }
};
static_assert(dispatcher<pooled>);

}  // namespace libra
