#pragma once

#include <libra/core/digest.hpp>
#include <libra/core/error.hpp>
#include <libra/core/wide.hpp>
#include <libra/model/layout.hpp>
#include <libra/model/packing.hpp>
#include <libra/model/placement.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/model/shape.hpp>
#include <libra/model/speeds.hpp>
#include <libra/model/topology.hpp>
#include <libra/model/work.hpp>
#include <libra/plan/certificate.hpp>
#include <libra/plan/fingerprint.hpp>
#include <libra/program/lowering_options.hpp>
#include <libra/program/ops.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

/// What a plan depends on beside the lengths, the layout and the policies.
struct plan_options {
  attention_shape shape{};
  topology links{};
  element_bytes width{};
  /// How ranks hold packed sequences outside attention. Under zigzag nothing is arranged.
  sharding home{sharding::contiguous};
  /// Order the segments of a pack so that short ones do not straddle shards.
  bool arrange{true};
  /// Lay the shards of sequences on different nodes where that is expected to take less time: rank r of a pool then
  /// holds the shard that `pool_batch::held_by` says, which may be of another slot. For callers that load it.
  bool scatter{false};
  /// Batches that a rank's remote tiles are cut into; the inputs of one travel while another is computed. 0: as many as
  /// `wave_count` finds best for a pool and pass.
  std::int32_t waves{0};
  /// Pass keys, values and their gradients on inside a node, so that they cross to it once.
  bool relay{true};
  /// Queries, keys and values that forward brings to a tile's rank stay there for backward, which then brings only
  /// gradients and statistics; rings of 16-bit elements also keep their outputs in fp32, from which backward computes
  /// delta. Both passes are dispatched alike, by the costs of backward. Costs the `kept_bytes` of `pool_traffic` per
  /// forward call whose backward call is still to come.
  bool keep_inputs{false};
  /// By how many bytes of a round a rank's network port has to exceed the mean of its node before neighbours carry the
  /// surplus, and by how many all ports of a node have to be relieved before other nodes share what they get from it.
  std::int64_t spread_bytes{lowering_options{}.spread_bytes};
  /// Relative speed of each rank of the job: dispatch gives a rank work in proportion. Shape: `[dp * cp]`; empty:
  /// all 1.
  std::vector<std::int32_t> speeds_permille{};
  /// The largest workspace that a rank may have in either pass of a pool; what does not fit is exchanged in smaller
  /// pieces. 0: no limit.
  std::int64_t max_workspace_bytes{0};
};

/// Errors: `input_error` naming the first option that cannot be used. Whether there is a speed for every rank is for
/// who knows the layout.
constexpr void validate(plan_options const& options) {
  validate(options.shape);
  validate(options.links);
  validate(options.width);
  require(options.waves >= 0, "waves is ", options.waves, ", expected at least 0");
  require(options.spread_bytes >= 0, "spread_bytes is ", options.spread_bytes, ", expected at least 0");
  require(options.max_workspace_bytes >= 0, "max_workspace_bytes is ", options.max_workspace_bytes,
          ", expected at least 0");
}

/// Packing and placement of a list: what every rank of the job knows alike.
struct batch_plan {
  libra::layout layout;
  plan_options options;
  libra::packing packing;
  pool_partition pools;
  libra::placement placement;
  /// Shape: `[sequences]`. Work of each packed sequence, summed over query heads.
  std::vector<wide_work> work;
  placement_certificate certificate;
  placement_fingerprint fingerprint;

  /// Sequences of the last, unfilled global batch.
  [[nodiscard]] std::int64_t dropped_sequences() const noexcept {
    return static_cast<std::int64_t>(packing.sequences.size() - placement.at.size());
  }
};

/// The speeds of the ranks of pool `g`; empty where all ranks of the job have speed 1.
[[nodiscard]] inline std::span<std::int32_t const> speeds_of_pool(batch_plan const& plan, pool_id g) noexcept {
  std::span<std::int32_t const> const speeds = plan.options.speeds_permille;
  auto const cp = static_cast<std::size_t>(plan.layout.cp);
  return speeds.empty() ? speeds
                        : speeds.subspan(static_cast<std::size_t>(plan.pools.first_slot(g)) * cp,
                                         static_cast<std::size_t>(plan.pools.slots(g)) * cp);
}
/// The sum of the speeds of a pool's ranks, in thousandths.
[[nodiscard]] inline std::int64_t speed_of_pool(batch_plan const& plan, pool_id g) noexcept {
  return sum_of_speeds(speeds_of_pool(plan, g), std::int64_t{plan.pools.slots(g)} * plan.layout.cp);
}

/// Dispatch and programs of one pool of one micro-step: what only its ranks need to know.
struct pool_plan {
  micro_step_id micro_step;
  pool_id pool;
  pool_batch batch;
  pool_dispatch dispatch;
  pool_certificate certificate;
  pool_program forward;
  pool_program backward;
  pool_fingerprint fingerprint;

  [[nodiscard]] pool_program const& of(pass p) const noexcept { return p == pass::forward ? forward : backward; }
};

}  // namespace libra
