#pragma once

#include <libra/core/policy_name.hpp>
#include <libra/cost/concept.hpp>

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

namespace libra {

/// A cost model that is chosen at run time: holds any other one and costs a call through a pointer.
///
/// Carries the name of what it holds, so fingerprints do not depend on whether a model was held by it.
/// Example: any_cost_model cost = measured ? any_cost_model(tabulated(points)) : any_cost_model(roofline());
class any_cost_model {
 public:
  // Not `cost_model Cost`: whether this class is one must not depend on itself.
  template <class Cost>
    requires(!std::same_as<std::remove_cvref_t<Cost>, any_cost_model> && cost_model<Cost>)
  explicit any_cost_model(Cost cost)
      : name(policy_name(cost)),
        counts_time_(counts_time(cost)),
        call_(std::move(cost)) {}

  [[nodiscard]] work operator()(tile_shape const& t) const { return call_(t); }
  /// As what it holds.
  [[nodiscard]] bool counts_picoseconds() const noexcept { return counts_time_; }

  std::string name;

 private:
  bool counts_time_;
  std::function<work(tile_shape const&)> call_;
};
static_assert(timing_cost_model<any_cost_model>);

}  // namespace libra
