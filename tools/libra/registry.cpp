#include "registry.hpp"

#include <libra/cost/tabulated.hpp>
#include <libra/pack/balanced.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/pack/first_fit_decreasing.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/place/karmarkar_karp.hpp>
#include <libra/place/longest_first.hpp>
#include <libra/place/snake.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/pool/fixed_size.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace libra::tools {
namespace {

/// One line of a seam's table: what the policy is, and how to make it.
template <class Make>
struct row {
  policy_description what;
  Make make;
};

template <class Any, class Policy>
Any erased(Policy policy) {
  return {Policy::name, std::move(policy)};
}

using packer_row = row<any_packer (*)(overlong)>;
constexpr std::array packers{
    packer_row{{in_order::name, "concatenates the documents and cuts at window edges; no padding",
                "what pretraining loaders do"},
               [](overlong when) { return erased<any_packer>(in_order{when}); }},
    packer_row{{best_fit_decreasing::name, "longest documents first, each into the fullest sequence that holds it",
                "Johnson 1973"},
               [](overlong when) { return erased<any_packer>(best_fit_decreasing{when}); }},
    packer_row{{first_fit_decreasing::name, "longest documents first, each into the earliest sequence that holds it",
                "Johnson 1973"},
               [](overlong when) { return erased<any_packer>(first_fit_decreasing{when}); }},
    packer_row{{balanced::name, "longest documents first, each into the sequence with the least attention work",
                "Graham 1969 (LPT); WLB-LLM 2025"},
               [](overlong when) { return erased<any_packer>(balanced{when}); }},
};

using pools_row = row<any_pools (*)()>;
constexpr std::array pools{
    pools_row{{fixed_size::name, "consecutive slots, as few pools as --pool allows, sizes differing by at most one",
               "Libra 2026"},
              [] { return erased<any_pools>(fixed_size{}); }},
};

using placer_row = row<any_placer (*)(placement_goal const&, int128)>;
constexpr std::array placers{
    placer_row{{as_packed::name, "packed order: no placement", "what trainers do without libra"},
               [](placement_goal const&, int128) { return erased<any_placer>(as_packed{}); }},
    placer_row{{snake::name, "heaviest sequences first, forth and back over the pools of one micro-step after another",
                "what many trainers do"},
               [](placement_goal const&, int128) { return erased<any_placer>(snake{}); }},
    placer_row{{longest_first::name, "heaviest sequence to the lightest pool of the global batch", "Graham 1969 (LPT)"},
               [](placement_goal const&, int128) { return erased<any_placer>(longest_first{}); }},
    placer_row{{karmarkar_karp::name, "all pools of the global batch at once, by balanced differencing",
                "Karmarkar, Karp 1982; Michiels et al. 2012"},
               [](placement_goal const&, int128) { return erased<any_placer>(karmarkar_karp{}); }},
    placer_row{{variance_reduced::name, "micro-steps of like weight, level pools, refined; minds --sync and --pp",
                "Libra 2026; Dueck, Scheuer 1990 (threshold accepting)"},
               [](placement_goal const& goal, int128 step_work) {
                 return erased<any_placer>(variance_reduced{.goal = goal, .step_work = step_work});
               }},
};

using dispatcher_row = row<any_dispatcher (*)()>;
constexpr std::array dispatchers{
    dispatcher_row{{ulysses::name, "query heads over the ranks of each sequence; nothing leaves the group",
                    "Jacobs et al. 2023 (DeepSpeed Ulysses)"},
                   []() -> any_dispatcher { return ulysses{}; }},
    dispatcher_row{{zigzag_ring::name, "head-tail chunks of every segment; keys pass around the ranks of a sequence",
                    "Liu et al. 2023; Zhu 2024 (ring-flash-attention)"},
                   []() -> any_dispatcher { return zigzag_ring{}; }},
    dispatcher_row{
        {usp::name, "heads over neighbouring ranks, rings of head-tail chunks between them", "Fang, Zhao 2024 (USP)"},
        []() -> any_dispatcher { return usp{}; }},
    dispatcher_row{{pooled::name, "home first, the surplus poured into the slack of the pool's other ranks",
                    "Libra 2026; McNaughton 1959 (wrap-around)"},
                   []() -> any_dispatcher { return pooled{}; }},
};

using cost_row = row<any_cost (*)(machine const&, std::int32_t)>;
constexpr std::array costs{
    cost_row{{pair_count::name, "visible query-key pairs, 2 forward and 5 backward; exact", "matrix products per pair"},
             [](machine const&, std::int32_t) -> any_cost { return pair_count{}; }},
    cost_row{{roofline::name, "picoseconds of one rank of --machine: visited key blocks at the peak rate",
              "fitted to MagiAttention's cp_benchmark"},
             [](machine const& rates, std::int32_t) -> any_cost { return roofline{rates.attention}; }},
    cost_row{{tabulated::name, "picoseconds between measured points; here sampled from the rates of --machine",
              "measurements; the command has none of its own"},
             [](machine const& rates, std::int32_t head_dim) -> any_cost {
               return any_cost_model(tabulated(sample_blocks(rates.attention, head_dim)));
             }},
};

template <class Rows>
std::vector<policy_description> described(Rows const& rows) {
  std::vector<policy_description> all;
  for (auto const& row : rows) {
    all.push_back(row.what);
  }
  return all;
}

template <class Rows>
auto maker(Rows const& rows, std::string_view name) {
  return std::ranges::find(rows, name, [](auto const& row) { return row.what.name; })->make;
}

}  // namespace

std::vector<policy_description> policies_of(seam which) {
  switch (which) {
    case seam::packer:
      return described(packers);
    case seam::pools:
      return described(pools);
    case seam::placer:
      return described(placers);
    case seam::dispatcher:
      return described(dispatchers);
    case seam::cost:
      break;
  }
  return described(costs);
}

std::vector<std::string_view> policy_names(seam which) {
  std::vector<std::string_view> names;
  for (policy_description const& policy : policies_of(which)) {
    names.push_back(policy.name);
  }
  return names;
}

any_packer make_packer(std::string_view name, overlong when_overlong) { return maker(packers, name)(when_overlong); }
any_pools make_pools(std::string_view name) { return maker(pools, name)(); }
any_placer make_placer(std::string_view name, placement_goal const& goal, int128 step_work) {
  return maker(placers, name)(goal, step_work);
}
any_dispatcher make_dispatcher(std::string_view name) { return maker(dispatchers, name)(); }
any_cost make_cost(std::string_view name, machine const& rates, std::int32_t head_dim) {
  return maker(costs, name)(rates, head_dim);
}

}  // namespace libra::tools
