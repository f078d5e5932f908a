#pragma once

#include <libra/core/random.hpp>
#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/dispatch/usp.hpp>
#include <libra/dispatch/zigzag_ring.hpp>
#include <libra/model/layout.hpp>
#include <libra/pack/balanced.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/pack/first_fit_decreasing.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/place/karmarkar_karp.hpp>
#include <libra/place/longest_first.hpp>
#include <libra/place/snake.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/scheduler.hpp>
#include <libra/pool/fixed_size.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace libra::test {

// One policy of a seam, chosen at run time, so that the property tests compile one scheduler only. A new policy is
// added to its list here and takes part in every property test.

struct some_packer {
  std::variant<best_fit_decreasing, in_order, first_fit_decreasing, balanced> policy;
  packing operator()(std::span<std::int64_t const> lengths, std::int64_t window_tokens) const {
    return std::visit([&](auto const& p) { return p(lengths, window_tokens); }, policy);
  }
};
struct some_placer {
  std::variant<variance_reduced, longest_first, as_packed, snake, karmarkar_karp> policy;
  placement operator()(std::span<int128 const> work, layout const& l, pool_partition const& pools) const {
    return std::visit([&](auto const& p) { return p(work, l, pools); }, policy);
  }
};
struct some_dispatcher {
  std::variant<pooled, ulysses, zigzag_ring, usp> policy;
  template <cost_model Cost>
  pool_dispatch operator()(pool_batch const& batch, Cost const& cost, topology const& links) const {
    return std::visit([&](auto const& p) { return p(batch, cost, links); }, policy);
  }
  [[nodiscard]] some_dispatcher exporting_at_most(std::int32_t permille) const {
    some_dispatcher less = *this;
    if (auto* const pools = std::get_if<pooled>(&less.policy)) {
      *pools = pools->exporting_at_most(permille);
    }
    return less;
  }
};
struct some_cost {
  std::variant<pair_count, roofline> policy;
  work operator()(tile_shape const& t) const {
    return std::visit([&](auto const& p) { return p(t); }, policy);
  }
};

struct planning_case;

/// The scheduler of a case's policies. Compiled once, in random_cases.cpp, for all tests.
class case_scheduler {
 public:
  explicit case_scheduler(planning_case const& of) : of_(&of) {}
  [[nodiscard]] packing pack(std::span<std::int64_t const> lengths, layout const& l, plan_options const& options) const;
  [[nodiscard]] pool_plan plan_pool(batch_plan const& plan, micro_step_id m, pool_id g) const;

 private:
  planning_case const* of_;
};

/// A whole planning problem. Printable: INFO(c.describe()) before the checks says which one failed.
struct planning_case {
  std::uint64_t seed{};
  std::string_view kind;
  std::vector<std::int64_t> lengths;
  libra::layout layout;
  plan_options options;
  overlong when_overlong{};
  some_packer pack;
  some_placer place;
  some_dispatcher dispatch;
  some_cost cost;

  [[nodiscard]] case_scheduler make_scheduler() const { return case_scheduler(*this); }
  [[nodiscard]] batch_plan plan() const;

  [[nodiscard]] std::string describe() const;
};

/// How large the cases may be.
struct case_limits {
  std::int32_t dp{12};
  std::int32_t cp{6};
  std::int32_t micro_steps{4};
  std::int64_t window_tokens{420};
  std::int64_t tokens{6000};  ///< of a global batch
};

/// The case of a seed: an unfriendly list and layout, and a policy for each seam.
planning_case random_case(std::uint64_t seed, case_limits const& limits = {});

/// One pool of a random case, of ranks of speed 1: enough to test dispatchers and lowering.
pool_batch random_pool(std::uint64_t seed, case_limits const& limits = {});

std::string describe(pool_batch const& b);

}  // namespace libra::test
