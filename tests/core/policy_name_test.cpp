#include <libra/core/policy_name.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace {

struct with_static_name {
  static constexpr std::string_view name = "first";
};
struct with_member_name {
  std::string name;
};
struct without_name {};
struct with_another_kind_of_name {
  int name{};
};

TEST_CASE("a policy is called by its name, static or not") {
  CHECK(libra::policy_name(with_static_name{}) == "first");
  with_member_name const second{"second"};
  CHECK(libra::policy_name(second) == "second");
}

TEST_CASE("a policy without a textual name is custom") {
  CHECK(libra::policy_name(without_name{}) == "custom");
  CHECK(libra::policy_name(with_another_kind_of_name{}) == "custom");
  CHECK(libra::policy_name([](int x) { return x; }) == "custom");
}

static_assert(libra::policy_name(with_static_name{}) == "first");

}  // namespace
