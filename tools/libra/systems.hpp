#pragma once

#include "configuration.hpp"

#include <libra/model/layout.hpp>
#include <libra/model/packing.hpp>
#include <libra/plan/plan.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace libra::tools {

/// A way to place and compute attention that the simulator compares.
struct system_description {
  std::string_view name;
  std::string_view summary;
};

/// All systems, in the order in which they are simulated by default.
[[nodiscard]] std::vector<system_description> systems();
[[nodiscard]] std::vector<std::string_view> system_names();

/// One setting of a system: a configuration with its placer, dispatcher, pools and homes, ready to be planned.
struct system_setting {
  configuration config;
  std::string what;  ///< what distinguishes it from the system's other settings
};

/// The settings of a system that are worth trying; the simulator keeps the fastest. Pre: the name is a system's.
[[nodiscard]] std::vector<system_setting> settings_of(std::string_view system, configuration const& base);

}  // namespace libra::tools
