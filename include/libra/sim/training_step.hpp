#pragma once

#include <libra/core/checked.hpp>
#include <libra/core/error.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/model/home.hpp>
#include <libra/model/machine.hpp>
#include <libra/model/pipeline.hpp>
#include <libra/model/speeds.hpp>
#include <libra/model/work.hpp>
#include <libra/plan/plan.hpp>
#include <libra/sim/layer_time.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra::sim {

/// What a training step does beside the attention of one layer.
struct step_options {
  std::int32_t layers{};
  std::int64_t active_parameters{};
  std::int32_t tensor_parallel{1};
  std::int32_t stages{1};
  synchronisation sync{synchronisation::layer};
  /// Full activation recompute: every forward pass, and its exchange, runs twice.
  bool recompute{false};
};

/// Errors: `input_error` naming the first option that is out of range.
constexpr void validate(step_options const& o) {
  require(o.layers >= 1, "layers is ", o.layers, ", expected at least 1");
  require(o.active_parameters >= 0, "active_parameters is ", o.active_parameters, ", expected at least 0");
  require(o.tensor_parallel >= 1, "tensor_parallel is ", o.tensor_parallel, ", expected at least 1");
  require(o.stages >= 1 && o.stages <= o.layers, "stages is ", o.stages, ", expected 1 to the number of layers, ",
          o.layers);
}

/// What a global batch costs, averaged over the global batches of a list.
///
/// Seconds are those of a rank of the stage with most layers, where attention, linear and bubble add up to the step.
struct step_timing {
  double step_seconds{};
  double attention_seconds{};
  double exposed_exchange_seconds{};  ///< attention less the busiest rank's computing, micro-step by micro-step
  double linear_seconds{};
  double bubble_seconds{};  ///< waiting for other stages
  double tokens_per_second_per_rank{};
  double worst_step_attention_seconds{};  ///< the most that any micro-step's attention takes
  std::int64_t max_tokens_per_rank{};
  std::int64_t max_bytes_per_rank{};
  std::int32_t max_ranks_per_exchange{};
};

/// What no placement, dispatch or exchange can beat: every segment as one uncut tile per key/value head, spread evenly.
struct step_bound {
  double attention_seconds{};
  double step_seconds{};
};

/// Linear picoseconds of all layers for one micro-step, on ranks of speed 1.
///
/// Forward takes 2 flop a parameter and token, backward 4, and a recomputed forward pass 2 more.
[[nodiscard]] inline work linear_work(layout const& l, machine const& rates, step_options const& o) {
  int128 const flop = checked_mul(checked_mul(2, o.active_parameters), l.window_tokens);
  int128 const rate = checked_mul(checked_mul(rates.linear_flop_per_second, l.cp), o.tensor_parallel);
  int128 const ps = ceil_div(checked_mul(flop, 1'000'000'000'000), rate);
  return {checked_int64(ps, "linear picoseconds"), checked_int64(ps * (o.recompute ? 3 : 2), "linear picoseconds")};
}

namespace detail {

/// One layer of one micro-step, as the ranks that wait for each other see it.
struct layer_step {
  work attention;  ///< picoseconds; backward begins with the recomputed forward pass
  std::int64_t busy_ps{};
};

[[nodiscard]] constexpr layer_step layer_step_of(layer_time const& t, bool recompute) noexcept {
  return {{t.attention.forward, t.attention.backward + (recompute ? t.attention.forward : 0)},
          t.busy_ps[recompute ? 1 : 0]};
}

/// What pools that wait for each other in each pass take together.
[[nodiscard]] constexpr layer_step slowest(layer_step const& a, layer_step const& b) noexcept {
  return {{std::max(a.attention.forward, b.attention.forward), std::max(a.attention.backward, b.attention.backward)},
          std::max(a.busy_ps, b.busy_ps)};
}

/// The linear work of one micro-step on ranks of these speeds: T/C tokens each, and all wait for the slowest.
[[nodiscard]] inline work linear_on(std::span<std::int32_t const> speeds_permille, work const& linear) {
  std::int32_t const speed = slowest_speed(speeds_permille);
  return {checked_int64(at_speed(linear.forward, speed), "linear picoseconds"),
          checked_int64(at_speed(linear.backward, speed), "linear picoseconds")};
}

/// The linear work of each set of ranks that wait for each other in a layer: all of the job, or each pool's.
[[nodiscard]] inline std::vector<work> linear_of_sets(batch_plan const& plan, work const& linear,
                                                      step_options const& o) {
  if (o.sync == synchronisation::layer) {
    return {linear_on(plan.options.speeds_permille, linear)};
  }
  std::vector<work> sets;
  for (std::int32_t g = 0; g < plan.pools.size(); ++g) {
    sets.push_back(linear_on(speeds_of_pool(plan, pool_id(g)), linear));
  }
  return sets;
}

[[nodiscard]] constexpr std::int64_t layers_of_stage(step_options const& o, std::int32_t stage) noexcept {
  return o.layers / o.stages + (stage < o.layers % o.stages ? 1 : 0);
}

/// What a stage of `layers` takes for one micro-step.
[[nodiscard]] inline work stage_work(layer_step const& step, work const& linear, std::int64_t layers,
                                     step_options const& o) {
  auto const sum = [&](pass p) {
    return checked_int64(
        static_cast<int128>(step.attention.of(p)) * layers + static_cast<int128>(linear.of(p)) * layers / o.layers,
        "a stage's picoseconds");
  };
  return {sum(pass::forward), sum(pass::backward)};
}

/// Picoseconds of one global batch, from its micro-steps. Shape: `[micro_steps]`.
[[nodiscard]] inline std::int64_t batch_ps(std::span<layer_step const> steps, work const& linear,
                                           step_options const& o) {
  std::vector<work> costs;
  for (std::int32_t s = 0; s < o.stages; ++s) {
    for (layer_step const& step : steps) {
      costs.push_back(stage_work(step, linear, layers_of_stage(o, s), o));
    }
  }
  return one_forward_one_backward(costs, o.stages);
}

/// One layer of every micro-step of a global batch, for each set of pools that wait for each other in it: all of them
/// together, or each alone. Shape: `[sets, micro_steps]`.
[[nodiscard]] inline std::vector<std::vector<layer_step>> waiting_sets(std::span<layer_time const> times,
                                                                       std::size_t pools, step_options const& o) {
  std::vector<std::vector<layer_step>> sets(o.sync == synchronisation::layer ? 1 : pools);
  for (std::size_t first = 0; first < times.size(); first += pools) {
    for (std::size_t g = 0; g < pools; ++g) {
      layer_step const mine = layer_step_of(times[first + g], o.recompute);
      if (g < sets.size()) {
        sets[g].push_back(mine);
      } else {
        sets[0].back() = slowest(sets[0].back(), mine);
      }
    }
  }
  return sets;
}

/// Tokens of documents in the placed sequences.
[[nodiscard]] inline std::int64_t placed_tokens(batch_plan const& plan) {
  std::int64_t tokens = 0;
  for (sequence_id const s : plan.placement.at) {
    for (segment const& piece : plan.packing.sequences[s.index()]) {
      tokens += piece.length;
    }
  }
  return tokens;
}

/// Fills in what is a maximum over ranks and micro-steps.
inline void put_extremes(layout const& l, std::span<layer_time const> times, step_timing& result) {
  home_layout const home{l.window_tokens, l.cp};
  for (std::int32_t c = 0; c < l.cp; ++c) {
    result.max_tokens_per_rank = std::max(result.max_tokens_per_rank, home.local_tokens(c));
  }
  for (layer_time const& t : times) {
    result.max_bytes_per_rank = std::max(result.max_bytes_per_rank, t.max_bytes);
    result.max_ranks_per_exchange = std::max(result.max_ranks_per_exchange, t.ranks_per_exchange);
  }
}

}  // namespace detail

/// The training step of a plan whose pools' layers take `times`.
///
/// A micro-step is layers of linear work on T/C tokens a rank and of attention; the linear work is the same everywhere
/// and takes as long as the slowest rank of those that wait for each other takes. With `synchronisation::layer` a
/// micro-step's attention takes the slowest pool's forward plus the slowest pool's backward time; with `batch` each
/// pool goes its own way, and the slowest one's sum counts. Pipeline stages take equal shares of the layers and run
/// 1F1B. Left out: optimiser, gradient reduction, embedding and loss, and what stages send each other.
///
/// Shape: `times` is `[micro-steps of all global batches, pools]`, of one layer. Errors: `input_error` naming an option
/// out of range or a wrong number of times; `range_error` beyond the integers.
[[nodiscard]] inline step_timing training_step(batch_plan const& plan, std::span<layer_time const> times,
                                               machine const& rates, step_options const& options) {
  validate(options);
  validate(rates);
  auto const pools = static_cast<std::size_t>(plan.pools.size());
  auto const steps = static_cast<std::size_t>(plan.placement.steps());
  require(times.size() == steps * pools, "there are ", times.size(), " layer times, expected ", steps,
          " micro-steps of ", pools, " pools");
  std::vector<work> const linear = detail::linear_of_sets(plan, linear_work(plan.layout, rates, options), options);
  std::int64_t const layers = detail::layers_of_stage(options, 0);
  auto const per_batch = static_cast<std::size_t>(plan.placement.micro_steps);

  int128 step_ps = 0, attention_ps = 0, exposed_ps = 0, worst_ps = 0, linear_ps = 0;
  for (std::size_t first = 0; first < steps; first += per_batch) {
    auto const sets = detail::waiting_sets(times.subspan(first * pools, per_batch * pools), pools, options);
    std::int64_t longest_ps = -1;
    std::size_t slowest_set = 0;
    for (std::size_t set = 0; set < sets.size(); ++set) {
      if (std::int64_t const ps = detail::batch_ps(sets[set], linear[set], options); ps > longest_ps) {
        longest_ps = ps;
        slowest_set = set;
      }
      for (detail::layer_step const& step : sets[set]) {
        worst_ps = std::max(worst_ps, static_cast<int128>(step.attention.forward + step.attention.backward) * layers);
      }
    }
    step_ps += longest_ps;
    work const around = detail::stage_work({}, linear[slowest_set], layers, options);
    linear_ps += static_cast<int128>(around.forward + around.backward) * static_cast<std::int64_t>(per_batch);
    for (detail::layer_step const& step : sets[slowest_set]) {
      std::int64_t const attention = step.attention.forward + step.attention.backward;
      attention_ps += static_cast<int128>(attention) * layers;
      exposed_ps += static_cast<int128>(attention - step.busy_ps) * layers;
    }
  }
  auto const batches = static_cast<double>(plan.placement.global_batches());
  auto const seconds = [&](int128 ps) { return static_cast<double>(ps) * 1e-12 / batches; };

  step_timing result{.step_seconds = seconds(step_ps),
                     .attention_seconds = seconds(attention_ps),
                     .exposed_exchange_seconds = seconds(exposed_ps),
                     .linear_seconds = seconds(linear_ps),
                     .bubble_seconds = seconds(step_ps - attention_ps - linear_ps),
                     .tokens_per_second_per_rank = 0,
                     .worst_step_attention_seconds = static_cast<double>(worst_ps) * 1e-12};
  double const ranks =
      static_cast<double>(plan.layout.ranks()) * options.stages * static_cast<double>(options.tensor_parallel);
  result.tokens_per_second_per_rank =
      static_cast<double>(detail::placed_tokens(plan)) / batches / ranks / result.step_seconds;
  detail::put_extremes(plan.layout, times, result);
  return result;
}

/// The bound of a plan's lengths on a machine: attention as uncut tiles without launches or exchange, spread over the
/// ranks in proportion to their speeds, and the linear work, which the slowest rank has too; where pools wait for each
/// other only at the end of a batch, that of the pool whose slowest rank is fastest. With pipeline stages, of an equal
/// share of the layers.
///
/// Errors: `input_error` naming an option out of range; `range_error` beyond the integers.
[[nodiscard]] inline step_bound bound_of(batch_plan const& plan, machine const& rates, step_options const& options) {
  validate(options);
  validate(rates);
  roofline const cost(rates.attention);
  attention_shape const& shape = plan.options.shape;
  wide_work sum;
  for (sequence_id const s : plan.placement.at) {
    for (segment const& piece : plan.packing.sequences[s.index()]) {
      tile_shape const whole{0, piece.length, piece.length, shape.group(), shape.head_dim, shape.mask};
      sum += scaled(cost(whole), shape.kv_heads);
    }
  }
  int128 const attention_ps = checked_add(checked_mul(sum.forward, options.recompute ? 2 : 1), sum.backward);
  work const linear = std::ranges::min(detail::linear_of_sets(plan, linear_work(plan.layout, rates, options), options),
                                       {}, &work::forward);
  double const stages = options.stages;
  step_bound bound;
  bound.attention_seconds =
      static_cast<double>(attention_ps) * 1e-12 * options.layers / stages /
      (static_cast<double>(sum_of_speeds(plan.options.speeds_permille, plan.layout.ranks())) / unit_speed_permille) /
      static_cast<double>(plan.placement.global_batches());
  bound.step_seconds = bound.attention_seconds + static_cast<double>(linear.forward + linear.backward) * 1e-12 /
                                                     stages * plan.placement.micro_steps;
  return bound;
}

}  // namespace libra::sim
