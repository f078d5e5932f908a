#pragma once

#include <concepts>
#include <string_view>

namespace libra {

/// The name under which a policy appears in reports and fingerprints: its member `name`, or "custom" without one.
template <class Policy>
[[nodiscard]] constexpr std::string_view policy_name(Policy const& policy) noexcept {
  if constexpr (requires {
                  { policy.name } -> std::convertible_to<std::string_view>;
                }) {
    return policy.name;
  } else {
    return "custom";
  }
}

}  // namespace libra
