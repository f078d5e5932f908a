#include "machine_option.hpp"

#include <libra/core/error.hpp>
#include <libra/io/in_quotes.hpp>
#include <libra/io/machine_json.hpp>

#include <algorithm>
#include <memory>

namespace libra::tools {

std::string machine_names() {
  std::string names;
  for (machine const& m : machines) {
    names += names.empty() ? "" : ", ";
    names += m.name;
  }
  return names;
}

void resolve_machine(std::string const& text, configuration& config) {
  if (text.ends_with(".json")) {
    config.machine_texts = std::make_shared<machine_file const>(read_machine(text));
    config.machine = config.machine_texts->get();
  } else {
    auto const found = std::ranges::find(machines, text, &machine::name);
    require(found != machines.end(), "--machine is ", in_quotes(text), ", expected a file ending in .json or one of ",
            machine_names());
    config.machine = *found;
  }
  config.planning.links = config.machine.links;
}

}  // namespace libra::tools
