#include "commands.hpp"
#include "output.hpp"
#include "registry.hpp"
#include "text.hpp"

#include <string>

namespace libra::tools {
namespace {

std::string tables() {
  text_table table("<<<<");
  table.row({"seam", "policy", "what it does", "source"});
  for (seam const which : seams) {
    bool first = true;
    for (policy_description const& policy : policies_of(which)) {
      table.row({first ? std::string(name_of(which)) : "", std::string(policy.name), std::string(policy.summary),
                 std::string(policy.source)});
      first = false;
    }
  }
  return table.text();
}

}  // namespace

outcome policies_command::run() const {
  deliver(
      output,
      [] {
        return document("policies", [](json_writer& json) {
          json.object("config", [] {});
          for (seam const which : seams) {
            json.array(name_of(which), [&] {
              for (policy_description const& policy : policies_of(which)) {
                json.object([&] {
                  json.member("name", policy.name);
                  json.member("summary", policy.summary);
                  json.member("source", policy.source);
                });
              }
            });
          }
        });
      },
      [] { return tables(); });
  return outcome::done;
}

}  // namespace libra::tools
