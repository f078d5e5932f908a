#pragma once

#include <libra/core/wide.hpp>
#include <libra/cost/any_cost_model.hpp>
#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/dispatch/usp.hpp>
#include <libra/dispatch/zigzag_ring.hpp>
#include <libra/model/layout.hpp>
#include <libra/model/machine.hpp>
#include <libra/model/packing.hpp>
#include <libra/model/placement.hpp>
#include <libra/model/topology.hpp>
#include <libra/pack/concept.hpp>
#include <libra/place/concept.hpp>
#include <libra/place/levels.hpp>
#include <libra/pool/concept.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace libra::tools {

/// The seams whose policies the command chooses by name; the library itself chooses them at compile time only.
enum class seam : std::uint8_t { packer, pools, placer, dispatcher, cost };
inline constexpr std::array seams{seam::packer, seam::pools, seam::placer, seam::dispatcher, seam::cost};

[[nodiscard]] constexpr std::string_view name_of(seam which) noexcept {
  constexpr std::array<std::string_view, seams.size()> names{"packer", "pools", "placer", "dispatcher", "cost"};
  return names[static_cast<std::size_t>(which)];
}

/// A policy as `libra policies` lists it.
struct policy_description {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
};

[[nodiscard]] std::vector<policy_description> policies_of(seam which);
[[nodiscard]] std::vector<std::string_view> policy_names(seam which);

/// Policies chosen at run time. They satisfy the concepts, and carry the name of what they hold.
struct any_packer {
  std::string_view name;
  std::function<packing(std::span<std::int64_t const>, std::int64_t)> call;

  packing operator()(std::span<std::int64_t const> lengths, std::int64_t window_tokens) const {
    return call(lengths, window_tokens);
  }
};
static_assert(packer<any_packer>);

struct any_pools {
  std::string_view name;
  std::function<pool_partition(layout const&, topology const&)> call;

  pool_partition operator()(layout const& l, topology const& links) const { return call(l, links); }
};
static_assert(pool_partitioner<any_pools>);

struct any_placer {
  std::string_view name;
  std::function<placement(std::span<int128 const>, layout const&, pool_partition const&)> call;

  placement operator()(std::span<int128 const> work, layout const& l, pool_partition const& pools) const {
    return call(work, l, pools);
  }
};
static_assert(placer<any_placer>);

/// Policies that take part in templates: each pair of them is compiled, one is chosen at run time.
using any_dispatcher = std::variant<ulysses, zigzag_ring, usp, pooled>;
using any_cost = std::variant<pair_count, roofline, any_cost_model>;

/// Pre of all of these: the registry has the name.
[[nodiscard]] any_packer make_packer(std::string_view name, overlong when_overlong);
[[nodiscard]] any_pools make_pools(std::string_view name);
[[nodiscard]] any_placer make_placer(std::string_view name, placement_goal const& goal, int128 step_work);
[[nodiscard]] any_dispatcher make_dispatcher(std::string_view name);
[[nodiscard]] any_cost make_cost(std::string_view name, machine const& rates, std::int32_t head_dim);

}  // namespace libra::tools
