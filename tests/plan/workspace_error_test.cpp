#include <libra/plan/workspace_error.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

namespace {

static_assert(std::is_base_of_v<libra::input_error, libra::workspace_error>);

TEST_CASE("carries its message and the least that works") {
  try {
    throw libra::workspace_error("max_workspace_bytes is 5, expected at least 7", 7);
  } catch (libra::input_error const& error) {
    CHECK(std::string(error.what()) == "max_workspace_bytes is 5, expected at least 7");
    auto const* workspace = dynamic_cast<libra::workspace_error const*>(&error);
    REQUIRE(workspace != nullptr);
    CHECK(workspace->least_bytes() == 7);
  }
}

}  // namespace
