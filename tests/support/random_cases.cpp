#include "support/random_cases.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace libra::test {
namespace {

/// The name of the policy that a variant holds.
template <class Variant>
std::string_view name_in(Variant const& policy) {
  return std::visit([](auto const& p) { return policy_name(p); }, policy);
}

/// A choice of a variant's alternatives.
template <class Variant>
Variant choose(random_bits& bits) {
  Variant chosen;
  std::uint64_t const index = bits.below(std::variant_size_v<Variant>);
  auto const set = [&]<std::size_t... I>(std::index_sequence<I...>) {
    (static_cast<void>(index == I ? chosen = std::variant_alternative_t<I, Variant>() : chosen), ...);
  };
  set(std::make_index_sequence<std::variant_size_v<Variant>>());
  return chosen;
}

scheduler<some_packer, fixed_size, some_placer, some_dispatcher, some_cost> scheduler_of(planning_case const& c) {
  return {c.pack, fixed_size{}, c.place, c.dispatch, c.cost};
}

/// A length of the list's kind. Pre: `most >= 1`.
std::int64_t random_length(random_bits& bits, std::string_view kind, std::int64_t window, std::int64_t most,
                           std::size_t position) {
  std::int64_t length = 1;
  if (kind == "one giant") {
    length = position == 0 ? 3 * window + 1 : bits.between(1, std::max<std::int64_t>(1, window / 8));
  } else if (kind == "all equal") {
    length = std::max<std::int64_t>(1, window / 3);
  } else if (kind == "geometric ladder") {
    length = std::int64_t{1} << (position % 12);
  } else if (kind == "giant with a crowd of ones") {
    length = position == 0 ? 2 * window : 1;
  } else if (kind == "whole windows") {
    length = window;
  } else if (kind == "uniform") {
    length = bits.between(1, window);
  } else if (kind == "long tail") {
    length = std::max<std::int64_t>(1, window * 3 / bits.between(1, 4 * window));
  }
  return std::min(length, most);
}

/// A list that packs into at least one global batch.
std::vector<std::int64_t> random_lengths(random_bits& bits, planning_case const& c) {
  std::int64_t const window = c.layout.window_tokens;
  std::int64_t const most = c.when_overlong == overlong::reject ? window : 4 * window;
  std::int64_t const wanted = c.layout.sequences_per_batch() * window + bits.between(0, 2 * window);
  std::vector<std::int64_t> lengths;
  for (std::int64_t tokens = 0; tokens < wanted;) {
    lengths.push_back(random_length(bits, c.kind, window, most, lengths.size()));
    tokens += c.when_overlong == overlong::truncate ? std::min(lengths.back(), window) : lengths.back();
  }
  libra::shuffle(std::span(lengths), bits);
  return lengths;
}

attention_shape random_shape(random_bits& bits, std::int64_t window) {
  static constexpr std::array<std::array<std::int32_t, 2>, 7> heads{
      {{28, 4}, {8, 2}, {7, 7}, {6, 1}, {4, 4}, {1, 1}, {2, 1}}};
  auto const& h = heads[static_cast<std::size_t>(bits.below(heads.size()))];
  attention_shape shape{h[0], h[1], bits.below(2) == 0 ? 16 : 40, attention_mask::causal()};
  switch (bits.below(4)) {
    case 0:
      shape.mask = attention_mask::full();
      break;
    case 1:
      shape.mask = attention_mask::window(bits.between(1, std::max<std::int64_t>(2, window * 2 / 3)));
      break;
    default:
      break;
  }
  return shape;
}

}  // namespace

packing case_scheduler::pack(std::span<std::int64_t const> lengths, layout const& l,
                             plan_options const& options) const {
  return scheduler_of(*of_).pack(lengths, l, options);
}
pool_plan case_scheduler::plan_pool(batch_plan const& plan, micro_step_id m, pool_id g) const {
  return scheduler_of(*of_).plan_pool(plan, m, g);
}

batch_plan planning_case::plan() const { return scheduler_of(*this).plan(lengths, layout, options); }

std::string planning_case::describe() const {
  attention_shape const& s = options.shape;
  std::string text = message(
      "seed ", seed, ", ", kind, ": window ", layout.window_tokens, ", dp ", layout.dp, ", cp ", layout.cp, ", pool ",
      layout.pool, ", micro_steps ", layout.micro_steps, ", heads ", s.q_heads, '/', s.kv_heads, " of ", s.head_dim,
      ", mask ", static_cast<int>(s.mask.kind), " width ", s.mask.width_tokens, ", waves ", options.waves, ", arrange ",
      static_cast<int>(options.arrange), ", home ", static_cast<int>(options.home), ", ranks_per_node ",
      options.links.ranks_per_node, ", relay ", static_cast<int>(options.relay), ", spread_bytes ",
      options.spread_bytes, ", overlong ", static_cast<int>(when_overlong), ", ", name_in(pack.policy), ' ',
      name_in(place.policy), ' ', name_in(dispatch.policy), ' ', name_in(cost.policy), ", lengths");
  for (std::int64_t const length : lengths) {
    text += message(' ', length);
  }
  text += options.speeds_permille.empty() ? "" : ", speeds";
  for (std::int32_t const speed : options.speeds_permille) {
    text += message(' ', speed);
  }
  return text;
}

planning_case random_case(std::uint64_t seed, case_limits const& limits) {
  static constexpr std::array<std::string_view, 8> kinds{
      "one giant",     "all equal", "ones",     "geometric ladder", "giant with a crowd of ones",
      "whole windows", "uniform",   "long tail"};
  random_bits bits(seed);
  planning_case c;
  c.seed = seed;
  c.kind = kinds[static_cast<std::size_t>(bits.below(kinds.size()))];
  c.layout.dp = static_cast<std::int32_t>(bits.between(1, limits.dp));
  c.layout.cp = static_cast<std::int32_t>(bits.between(1, limits.cp));
  c.layout.pool = static_cast<std::int32_t>(bits.between(1, c.layout.dp));
  c.layout.micro_steps = static_cast<std::int32_t>(bits.between(1, limits.micro_steps));
  // Short documents make many segments, whatever the window: keep those lists small.
  std::int64_t const budget =
      c.kind == "ones" || c.kind == "giant with a crowd of ones" ? limits.tokens / 8 : limits.tokens;
  std::int64_t const most = std::clamp<std::int64_t>(budget / c.layout.sequences_per_batch(), 1, limits.window_tokens);
  c.layout.window_tokens =
      bits.below(4) == 0 ? bits.between(1, std::min<std::int64_t>(most, 9)) : bits.between(1, most);
  c.when_overlong = static_cast<overlong>(bits.below(3));
  c.options.shape = random_shape(bits, c.layout.window_tokens);
  c.options.waves = static_cast<std::int32_t>(bits.between(0, 4));
  c.options.arrange = bits.below(3) != 0;
  c.pack.policy = choose<decltype(c.pack.policy)>(bits);
  std::visit([&](auto& p) { p.when_overlong = c.when_overlong; }, c.pack.policy);
  c.place.policy = choose<decltype(c.place.policy)>(bits);
  c.dispatch.policy = choose<decltype(c.dispatch.policy)>(bits);
  c.cost.policy = choose<decltype(c.cost.policy)>(bits);
  if (auto* rings = std::get_if<usp>(&c.dispatch.policy); rings != nullptr && bits.below(2) == 0) {
    do {
      rings->head_ranks = static_cast<std::int32_t>(bits.between(1, c.layout.cp));
    } while (c.layout.cp % rings->head_ranks != 0);
  }
  c.options.home = bits.below(3) == 0 ? sharding::zigzag : sharding::contiguous;
  c.options.links.ranks_per_node = bits.below(2) == 0 ? 8 : static_cast<std::int32_t>(bits.between(1, 5));
  c.options.relay = bits.below(5) != 0;
  c.options.spread_bytes = bits.below(3) == 0 ? plan_options{}.spread_bytes : bits.between(0, 4000);
  c.lengths = random_lengths(bits, c);
  if (bits.below(4) == 0) {
    for (std::int64_t r = 0; r < c.layout.ranks(); ++r) {
      c.options.speeds_permille.push_back(
          static_cast<std::int32_t>(bits.below(2) == 0 ? unit_speed_permille : bits.between(100, 3000)));
    }
  }
  return c;
}

pool_batch random_pool(std::uint64_t seed, case_limits const& limits) {
  planning_case c = random_case(seed, limits);
  c.place.policy = variance_reduced{};
  c.options.home = sharding::contiguous;
  c.options.speeds_permille.clear();
  batch_plan const plan = c.plan();
  random_bits bits(seed + 1);
  auto const m = static_cast<std::int32_t>(bits.between(0, plan.placement.steps() - 1));
  auto const g = static_cast<std::int32_t>(bits.between(0, plan.pools.size() - 1));
  return batch_of(plan, micro_step_id(m), pool_id(g));
}

std::string describe(pool_batch const& b) {
  std::string text = message("heads ", b.shape.q_heads, '/', b.shape.kv_heads, " of ", b.shape.head_dim, ", mask ",
                             static_cast<int>(b.shape.mask.kind), " width ", b.shape.mask.width_tokens, ", window ",
                             b.home.window_tokens, ", cp ", b.home.cp, ", slots ", b.slots, ", segments");
  for (placed_segment const& s : b.segments) {
    text += message(' ', s.slot.value, ':', s.position, '+', s.what.length);
  }
  return text;
}

}  // namespace libra::test
