#include "systems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace libra::tools {
namespace {

constexpr std::array all{
    system_description{"ulysses", "packed order; heads over the ranks of each sequence"},
    system_description{"ulysses_aligned", "micro-steps of like weight; heads over the ranks of each sequence"},
    system_description{"zigzag_ring", "packed order; head-tail chunks, keys pass around the ranks of each sequence"},
    system_description{"usp", "packed order; heads over neighbours, rings between them"},
    system_description{"global_pool", "packed order; every micro-step's tiles spread over all ranks of the job"},
    system_description{"pooled", "bounded pools, placed over the global batch; tiles spread over each pool"},
};

/// Batches of remote tiles that a gathering system may overlap its exchange with; 0: as the planner finds best.
constexpr std::array waves{0, 1, 4, 16};

configuration with(configuration config, std::string_view placer, std::string_view dispatcher, std::int32_t pool) {
  config.policies.placer = placer;
  config.policies.dispatcher = dispatcher;
  config.layout.pool = pool;
  config.planning.home = sharding::contiguous;
  config.planning.scatter = false;
  return config;
}

std::vector<system_setting> each_wave(configuration const& base) {
  std::vector<system_setting> settings;
  for (std::int32_t const w : waves) {
    settings.push_back({base, w == 0 ? "waves by pool" : fmt::format("waves {}", w)});
    settings.back().config.planning.waves = w;
  }
  return settings;
}

/// The settings, and each once more as `change` makes it.
template <class Change>
std::vector<system_setting> with_and_without(std::vector<system_setting> settings, std::string_view what,
                                             Change change) {
  std::size_t const plain = settings.size();
  for (std::size_t i = 0; i < plain; ++i) {
    settings.push_back(settings[i]);
    settings.back().what += what;
    change(settings.back().config.planning);
  }
  return settings;
}

/// Trainers that spread heads keep what arrives for the backward pass.
std::vector<system_setting> kept_or_not(std::vector<system_setting> settings, configuration const& base) {
  return base.planning.keep_inputs
             ? settings
             : with_and_without(std::move(settings), ", inputs kept", [](plan_options& o) { o.keep_inputs = true; });
}

/// Spreading heads over a group: kept inputs or not, and, where a group spans nodes, keys passed on inside or not.
std::vector<system_setting> each_exchange(configuration const& base) {
  std::vector<system_setting> settings = kept_or_not(each_wave(base), base);
  std::int32_t const node = base.planning.links.ranks_per_node;
  bool const spans_nodes = node % base.layout.cp != 0;
  return spans_nodes
             ? with_and_without(std::move(settings), ", not passed on", [](plan_options& o) { o.relay = false; })
             : settings;
}

}  // namespace

std::vector<system_description> systems() { return {all.begin(), all.end()}; }

std::vector<std::string_view> system_names() {
  std::vector<std::string_view> names;
  for (system_description const& s : all) {
    names.push_back(s.name);
  }
  return names;
}

std::vector<system_setting> settings_of(std::string_view system, configuration const& base) {
  if (system == "ulysses") return each_exchange(with(base, "as_packed", "ulysses", 1));
  if (system == "ulysses_aligned") return each_exchange(with(base, "variance_reduced", "ulysses", 1));
  if (system == "global_pool") return each_wave(with(base, "as_packed", "pooled", base.layout.dp));
  if (system == "pooled") {
    configuration config = with(base, base.policies.placer, "pooled", base.layout.pool);
    config.planning.scatter = base.planning.scatter;
    return each_wave(config);
  }
  if (system == "zigzag_ring") {
    configuration config = with(base, "as_packed", "zigzag_ring", 1);
    config.planning.home = sharding::zigzag;
    return {{config, "ring " + std::to_string(base.layout.cp)}};
  }
  std::vector<system_setting> settings;
  auto const heads_over = [&](std::int32_t u) {
    settings.push_back(
        {with(base, "as_packed", "usp", 1), fmt::format("heads over {}, ring {}", u, base.layout.cp / u)});
    settings.back().config.planning.home = sharding::zigzag;
    settings.back().config.usp_head_ranks = u;
  };
  for (std::int32_t u = 2; u <= std::min(base.layout.cp, base.planning.shape.q_heads); ++u) {
    if (base.layout.cp % u == 0) {
      heads_over(u);
    }
  }
  // Over one rank it is `zigzag_ring`, which is timed on its own: only where nothing else is possible.
  if (settings.empty()) {
    heads_over(1);
  }
  return kept_or_not(std::move(settings), base);
}

}  // namespace libra::tools
