#include "simulation.hpp"

#include <libra/core/ids.hpp>
#include <libra/sim/kernel_time.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace libra::tools {
namespace {

/// Programs of one pool after another are built and thrown away: handing their memory back to the system and asking for
/// it again took a fifth of the time.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

}  // namespace

simulation::simulation(documents const& docs, packing packed, system_setting const& setting,
                       sim::step_options const& step)
    : setting_(setting.what),
      config_(setting.config),
      step_(step),
      plan_(make_planner(config_, config_.policies.dispatcher)),
      batch_(plan_.place(docs.lengths, std::move(packed), config_.layout, config_.planning)) {
  times_ = sim::time_layers(
      batch_, [&](micro_step_id m, pool_id g) { return sim::least_layer_time(batch_, m, g, config_.machine); });
  auto const pools = static_cast<std::size_t>(batch_.pools.size());
  std::vector<std::size_t> of_step(pools);
  std::vector<std::size_t> turn(times_.size());
  for (std::size_t first = 0; first < times_.size(); first += pools) {
    std::iota(of_step.begin(), of_step.end(), first);
    std::ranges::stable_sort(of_step, std::ranges::greater{}, [&](std::size_t pool) {
      return times_[pool].attention.forward + times_[pool].attention.backward;
    });
    for (std::size_t i = 0; i < pools; ++i) {
      turn[of_step[i]] = i;
    }
  }
  order_.resize(times_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::ranges::stable_sort(order_, {}, [&](std::size_t pool) { return turn[pool]; });
  least_seconds_ = this->step().step_seconds;
}

micro_step_id simulation::step_of(std::size_t pool) const noexcept {
  return micro_step_id(pool / static_cast<std::size_t>(batch_.pools.size()));
}
pool_id simulation::pool_of(std::size_t pool) const noexcept {
  return pool_id(pool % static_cast<std::size_t>(batch_.pools.size()));
}

void simulation::advance() {
  // A look at the whole step after every few pools: it costs about as much as one small pool.
  constexpr std::size_t looks = 64;
  sim::kernel_time const time(config_.machine.attention);
  std::size_t const end = std::min(order_.size(), timed_ + 1 + order_.size() / looks);
  for (; timed_ < end; ++timed_) {
    std::size_t const pool = order_[timed_];
    pool_plan const planned = limit_.plan(batch_, plan_.draft_pool, step_of(pool), pool_of(pool));
    times_[pool] = sim::time_layer(clock_, planned, config_.machine, time);
    if (bar_ != nullptr) bar_->advance();
  }
  // What does not fit loses against everything that does.
  least_seconds_ = limit_.exceeded() ? std::numeric_limits<double>::infinity() : step().step_seconds;
}

sim::step_timing simulation::step() const { return sim::training_step(batch_, times_, config_.machine, step_); }

sim::step_bound simulation::bound() const { return sim::bound_of(batch_, config_.machine, step_); }

trace_process simulation::trace(std::string_view system) {
  auto const slowest = std::ranges::max_element(
      times_, {}, [](sim::layer_time const& t) { return t.attention.forward + t.attention.backward; });
  auto const index = static_cast<std::int32_t>(slowest - times_.begin());
  std::int32_t const pools = batch_.pools.size();
  pool_plan const pool = plan_.draft_pool(batch_, micro_step_id(index / pools), pool_id(index % pools));
  sim::kernel_time const time(config_.machine.attention);
  trace_process process{
      .name = fmt::format("{}: micro-step {}, pool {}, one layer", system, index / pools, index % pools), .events = {}};
  std::int64_t begin_ps = 0;
  for (pass const p : {pass::forward, pass::backward}) {
    sim::pool_timing const timing = clock_.run(pool.batch, pool.of(p), config_.machine, time);
    for (std::int32_t r = 0; r < pool.batch.ranks(); ++r) {
      program const& code = pool.of(p).ranks[rank_id(r).index()];
      auto const spans = clock_.spans(rank_id(r));
      for (std::size_t i = 0; i < spans.size(); ++i) {
        process.events.push_back({.what = name_of(code.ops[i].kind),
                                  .rank = r,
                                  .lane = code.ops[i].on,
                                  .begin_ps = begin_ps + spans[i].start_ps,
                                  .duration_ps = spans[i].duration_ps()});
      }
    }
    begin_ps += timing.makespan_ps;
  }
  return process;
}

simulation fastest_of(documents const& docs, configuration const& config, std::vector<system_setting> const& settings,
                      sim::step_options const& step) {
  keep_freed_memory();
  // Packs are arranged for contiguous homes only.
  std::array<std::optional<packing>, 2> packed;
  std::vector<simulation> all;
  all.reserve(settings.size());
  for (system_setting const& setting : settings) {
    std::optional<packing>& mine = packed[setting.config.planning.home == sharding::zigzag ? 1 : 0];
    if (!mine) {
      configuration of_home = config;
      of_home.planning.home = setting.config.planning.home;
      mine = make_planner(of_home, of_home.policies.dispatcher).pack(docs.lengths, of_home.layout, of_home.planning);
    }
    all.emplace_back(docs, *mine, setting, step);
  }
  // Most settings are ruled out before all of their pools are timed.
  std::int64_t const pools = std::int64_t{all.front().batch().placement.steps()} * all.front().batch().pools.size();
  progress bar(std::string(settings.front().config.policies.dispatcher), pools * static_cast<std::int64_t>(all.size()));
  for (simulation& s : all) {
    s.report_to(&bar);
  }
  simulation& chosen = all[sim::fastest(std::span(all))];
  if (chosen.exceeded()) {
    std::optional<workspace_error> least;
    for (simulation& s : all) {
      while (!s.done()) s.advance();
      keep_smaller_need(least, *s.exceeded());
    }
    throw *least;
  }
  simulation best = std::move(chosen);
  best.report_to(nullptr);
  return best;
}

sim::step_options step_options_of(configuration const& config, bool recompute) {
  return {.layers = config.model.layers,
          .active_parameters = config.model.active_parameters,
          .tensor_parallel = config.tp,
          .stages = config.goal.stages,
          .sync = config.goal.sync,
          .recompute = recompute};
}

}  // namespace libra::tools
