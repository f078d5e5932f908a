#pragma once

#include "configuration.hpp"

#include <string>

namespace libra::tools {

/// Sets the configuration's machine to a built-in one, by name, or to the one in a file whose name ends in ".json".
///
/// Errors: `input_error` naming the option, the text and the names there are; those of `read_machine`.
void resolve_machine(std::string const& text, configuration& config);

/// Names of the built-in machines, separated by commas.
[[nodiscard]] std::string machine_names();

}  // namespace libra::tools
