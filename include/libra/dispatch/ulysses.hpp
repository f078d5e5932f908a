#pragma once

#include <libra/dispatch/concept.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace libra {

/// Head parallelism: rank c of a group computes query heads `[c * H / cp, (c + 1) * H / cp)` of all its sequence's
/// rows.
///
/// Query heads need not divide by the group; with fewer heads than ranks some stay idle, and the result counts them.
/// A key/value head is sent to every rank that computes one of its query heads. Nothing leaves the group.
/// Complexity: linear in the tiles. Source: DeepSpeed Ulysses (Jacobs et al., 2023).
struct ulysses {
  static constexpr std::string_view name = "ulysses";

  template <cost_model Cost>
  [[nodiscard]] pool_dispatch operator()(pool_batch const& batch, Cost const&, topology const&) const {
    std::int32_t const heads = batch.shape.q_heads;
    std::int32_t const group = batch.shape.group();
    std::int32_t const cp = batch.home.cp;
    pool_dispatch result{.forward = {}, .backward = {}, .ranks_per_exchange = cp, .idle_ranks = 0};
    for (std::size_t s = 0; s < batch.segments.size(); ++s) {
      segment_id const id(s);
      for (std::int32_t c = 0; c < cp; ++c) {
        auto const first = static_cast<std::int32_t>(std::int64_t{c} * heads / cp);
        auto const last = static_cast<std::int32_t>((std::int64_t{c} + 1) * heads / cp);
        for (std::int32_t h = first; h < last;) {
          std::int32_t const end = std::min(last, (h / group + 1) * group);
          result.forward.push_back({id, batch.rank_of(batch[id].slot, c), h, end, 0, batch.length(id)});
          h = end;
        }
      }
    }
    result.backward = result.forward;
    result.idle_ranks = batch.slots * std::max(0, cp - heads);
    return result;
  }
};
static_assert(dispatcher<ulysses>);

}  // namespace libra
