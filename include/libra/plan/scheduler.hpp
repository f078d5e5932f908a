#pragma once

#include <libra/core/policy_name.hpp>
#include <libra/cost/concept.hpp>
#include <libra/dispatch/concept.hpp>
#include <libra/model/scatter.hpp>
#include <libra/pack/arrange.hpp>
#include <libra/pack/concept.hpp>
#include <libra/place/concept.hpp>
#include <libra/plan/batch_of.hpp>
#include <libra/plan/certify.hpp>
#include <libra/plan/hashing.hpp>
#include <libra/plan/memory_saving.hpp>
#include <libra/plan/plan.hpp>
#include <libra/plan/wave_count.hpp>
#include <libra/plan/workspace_error.hpp>
#include <libra/pool/concept.hpp>
#include <libra/program/lowering.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace libra {

/// Composes one policy per seam into a planner.
///
/// `plan` packs and places a whole list; every rank of the job runs it and gets the same result. `plan_pool` then
/// dispatches and lowers one pool; each rank runs it for its own pool only.
///
/// Determinism: the same inputs give the same plan, bit for bit, on every rank, compiler and platform.
/// Example: examples/plan_batch.cpp.
template <packer Packer, pool_partitioner Pools, placer Placer, dispatcher Dispatcher, cost_model Cost>
  requires dispatcher_for<Dispatcher, Cost>
class scheduler {
 public:
  constexpr scheduler(Packer pack, Pools pools, Placer place, Dispatcher dispatch, Cost cost)
      : pack_(std::move(pack)),
        pools_(std::move(pools)),
        place_(std::move(place)),
        dispatch_(std::move(dispatch)),
        cost_(std::move(cost)) {}

  /// Packs and places `lengths`. Shape: `[documents]`. Units: tokens.
  ///
  /// Errors: `input_error` for a layout, option or length that cannot be used, and when the list packs into less than
  /// one global batch; `range_error` for work beyond the integers. Complexity: O(n log n) in documents and sequences.
  [[nodiscard]] batch_plan plan(std::span<std::int64_t const> lengths, layout const& l,
                                plan_options const& options = {}) const {
    return place(lengths, pack(lengths, l, options), l, options);
  }

  /// The first half of `plan`: the packed sequences, arranged for their homes.
  [[nodiscard]] packing pack(std::span<std::int64_t const> lengths, layout const& l,
                             plan_options const& options = {}) const {
    validate(l);
    validate(options);
    validate_speeds(options.speeds_permille, l.ranks());
    require(!lengths.empty(), "the list of lengths is empty, expected at least one document");
    packing packed = pack_(lengths, l.window_tokens);
    if (options.arrange && options.home == sharding::contiguous) {
      arrange_for_home(packed, {l.window_tokens, l.cp});
    }
    return packed;
  }

  /// The second half of `plan`. Pre: `packed` came from `pack` with the same arguments.
  [[nodiscard]] batch_plan place(std::span<std::int64_t const> lengths, packing packed, layout const& l,
                                 plan_options const& options = {}) const {
    batch_plan result;
    result.layout = l;
    result.options = options;
    result.packing = std::move(packed);
    result.pools = pools_(l, options.links);
    std::vector<int128> totals;
    for (std::size_t s = 0; s < result.packing.sequences.size(); ++s) {
      result.work.push_back(work_of(result.packing.sequences[s], options.shape));
      totals.push_back(result.work.back().total());
    }
    result.placement = place_(totals, l, result.pools);
    result.certificate = certify(totals, l, result.pools, result.placement);
    result.fingerprint = {digest_of(lengths), configuration(l, options), digest_of(result.packing),
                          digest_of(result.placement, result.pools)};
    return result;
  }

  /// Dispatches and lowers pool `g` of micro-step `m`.
  ///
  /// Errors: `input_error` naming a micro-step or pool that the plan does not have; `workspace_error` where nothing
  /// fits into `max_workspace_bytes`, with the least that does; `range_error` from the cost model. Complexity: O(n log
  /// n) in the pool's tiles plus linear in its transfers; up to thirteen times that where the limit is exceeded.
  [[nodiscard]] pool_plan plan_pool(batch_plan const& batch, micro_step_id m, pool_id g) const {
    pool_plan result = draft_pool(batch, m, g);
    result.certificate = certify(result.batch, result.dispatch, cost_);
    result.fingerprint = {digest_of(result.batch), digest_of(result.dispatch.forward),
                          digest_of(result.dispatch.backward), digest_of(result.forward), digest_of(result.backward)};
    return result;
  }

  /// `plan_pool` without certificate and fingerprint: enough to time a pool, not to run it. Errors: as `plan_pool`.
  [[nodiscard]] pool_plan draft_pool(batch_plan const& batch, micro_step_id m, pool_id g) const {
    pool_plan result;
    result.micro_step = m;
    result.pool = g;
    result.batch = batch_of(batch, m, g);
    result.dispatch = dispatch_(result.batch, cost_, batch.options.links);
    std::int64_t const limit = batch.options.max_workspace_bytes;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    if (batch.options.scatter) {
      if (std::optional<pool_plan> scattered = scatter(result, batch.options.links)) {
        least = lower_both(batch, *scattered);
        if (limit == 0 || least <= limit) {
          return *std::move(scattered);
        }
      }
    }
    least = std::min(least, lower_both(batch, result));
    if (limit > 0 && least > limit) {
      throw workspace_error(message("max_workspace_bytes is ", limit, ", expected at least ", least, " for pool ",
                                    g.value, " of micro-step ", m.value),
                            least);
    }
    return result;
  }

  [[nodiscard]] constexpr Cost const& cost() const noexcept { return cost_; }
  [[nodiscard]] constexpr std::string_view packer_name() const noexcept { return policy_name(pack_); }

 private:
  /// A dispatched pool with its homes scattered, dispatched anew; nothing if that is not expected to pay.
  [[nodiscard]] std::optional<pool_plan> scatter(pool_plan const& pool, topology const& links) const {
    int128 const at_home = pool.dispatch.expected_ps;
    std::int32_t const stride = pool.dispatch.exchange_ps * 32 > at_home ? scattering_stride(pool.batch, links) : 0;
    if (stride == 0) {
      return std::nullopt;
    }
    std::optional<pool_plan> result(std::in_place);
    result->micro_step = pool.micro_step;
    result->pool = pool.pool;
    result->batch = pool.batch;
    result->batch.stride = stride;
    result->dispatch = dispatch_(result->batch, cost_, links);
    // What is expected is right to a sixteenth.
    if (result->dispatch.expected_ps >= at_home - at_home / 16) {
      result.reset();
    }
    return result;
  }

  /// Lowers both passes of a dispatched pool. Returns the larger workspace, or the least that any way needs beyond the
  /// limit.
  std::int64_t lower_both(batch_plan const& batch, pool_plan& result) const {
    if (batch.options.keep_inputs) {
      result.dispatch.forward = result.dispatch.backward;
    }
    auto const options = [&](pass p) -> lowering_options {
      return {.width = batch.options.width,
              .waves = batch.options.waves > 0 ? batch.options.waves : waves_of(batch, result, p),
              .flow = result.dispatch.flow,
              .ranks_per_node = batch.options.relay ? batch.options.links.ranks_per_node : 0,
              .spread_bytes = batch.options.spread_bytes,
              .keep_inputs = batch.options.keep_inputs,
              .groups_apart = result.dispatch.ranks_per_exchange <= batch.layout.cp};
    };
    std::int64_t least = 0;
    for (pass const p : {pass::forward, pass::backward}) {
      std::int64_t const needed = lower_pass(result, p, options(p), batch.options);
      least = std::max(least, needed);
    }
    return least;
  }

  [[nodiscard]] std::int32_t waves_of(batch_plan const& batch, pool_plan const& pool, pass p) const {
    if (!counts_time(cost_)) {
      return usual_waves;
    }
    int128 total = 0;
    for (sequence_id const s : batch.placement.pool(pool.micro_step, pool.pool, batch.pools)) {
      total += batch.work[s.index()].of(p);
    }
    // Ranks of unequal speed take their time together as so many equal ones take longer or shorter work.
    std::int32_t const ranks = pool.batch.ranks();
    int128 const computing = at_speed(total * ranks, speed_of_pool(batch, pool.pool));
    int128 const exchanging = crossing_ps(pool.batch, pool.dispatch.of(p), p, batch.options.links);
    return wave_count(std::max(computing, exchanging), ranks, batch.options.links);
  }

  /// Lowers one pass of a dispatched pool. Returns its workspace, or beyond the limit the least that any way needs.
  std::int64_t lower_pass(pool_plan& result, pass p, lowering_options const& usual, plan_options const& options) const {
    pool_program& program = p == pass::forward ? result.forward : result.backward;
    std::vector<tile>& tiles = p == pass::forward ? result.dispatch.forward : result.dispatch.backward;
    program = lower(result.batch, tiles, p, usual);
    std::int64_t const limit = options.max_workspace_bytes;
    std::int64_t const needed = limit > 0 ? workspace_of(program) : 0;
    if (needed <= limit) {
      return needed;
    }
    saved_pass saved =
        lower_within(limit, result.batch, p, usual, [&](std::int32_t permille) -> std::optional<std::vector<tile>> {
          if (permille == 1000) {
            return tiles;
          }
          // What is kept between the passes lies where the tiles of both say.
          if constexpr (export_limiting<Dispatcher>) {
            if (options.keep_inputs) {
              return std::nullopt;
            }
            return dispatch_.exporting_at_most(permille)(result.batch, cost_, options.links).of(p);
          }
          return std::nullopt;
        });
    if (saved.least_bytes <= limit) {
      program = std::move(saved.program);
      tiles = std::move(saved.tiles);
    }
    return std::min(needed, saved.least_bytes);
  }

  [[nodiscard]] wide_work work_of(std::span<segment const> sequence, attention_shape const& shape) const {
    wide_work sum;
    for (segment const& s : sequence) {
      sum +=
          scaled(cost_(tile_shape{0, s.length, s.length, shape.group(), shape.head_dim, shape.mask}), shape.kv_heads);
    }
    return sum;
  }

  [[nodiscard]] digest configuration(layout const& l, plan_options const& options) const {
    hasher h;
    add_to(h, l);
    add_to(h, options.shape);
    add_to(h, options.links);
    add_to(h, options.width);
    h.add(options.arrange).add(options.waves).add(static_cast<std::uint8_t>(options.home));
    h.add(options.relay).add(options.spread_bytes);
    if (!all_speeds_one(options.speeds_permille)) {
      add_to(h, options.speeds_permille);
    }
    if (options.keep_inputs) {
      h.add(options.keep_inputs);
    }
    if (options.scatter) {
      h.add(options.scatter);
    }
    if (options.max_workspace_bytes > 0) {
      h.add(options.max_workspace_bytes);
    }
    h.add(policy_name(pack_))
        .add(policy_name(pools_))
        .add(policy_name(place_))
        .add(policy_name(dispatch_))
        .add(policy_name(cost_));
    return h.finish();
  }

  Packer pack_;
  Pools pools_;
  Placer place_;
  Dispatcher dispatch_;
  Cost cost_;
};

}  // namespace libra
