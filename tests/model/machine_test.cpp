#include <libra/model/machine.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <type_traits>

namespace {

using libra::attention_rates;
using libra::machine;

static_assert(std::is_trivially_copyable_v<machine> && std::is_trivially_copyable_v<attention_rates>);

TEST_CASE("every machine that is built in is usable, named once and sourced") {
  std::set<std::string_view> names;
  for (machine const& m : libra::machines) {
    CAPTURE(m.name);
    CHECK_NOTHROW(validate(m.links));
    CHECK_NOTHROW(validate(m.attention));
    CHECK(m.linear_flop_per_second >= 1);
    CHECK_FALSE(m.source.empty());
    CHECK(names.insert(m.name).second);
  }
}

TEST_CASE("the constants fixed for comparisons") {
  CHECK(libra::h200_sxm.name == "h200-sxm");
  CHECK(libra::h100_sxm.name == "h100-sxm");
  for (machine const& m : {libra::h100_sxm, libra::h200_sxm}) {
    CHECK(m.links == libra::topology{.ranks_per_node = 8,
                                     .node_bytes_per_second = 400'000'000'000,
                                     .network_bytes_per_second = 48'000'000'000,
                                     .node_latency_ps = 10'000'000,
                                     .network_latency_ps = 25'000'000});
    CHECK(m.linear_flop_per_second == 400'000'000'000'000);
  }
}

TEST_CASE("each rate is refused by name and value") {
  constexpr attention_rates good = libra::hopper_flash_attention;
  auto const refused = [](attention_rates r, char const* why) {
    CHECK_THROWS_WITH_AS(validate(r), why, libra::input_error);
  };
  attention_rates r = good;
  r.forward_flop_per_second = 0;
  refused(r, "forward_flop_per_second is 0, expected at least 1");
  r = good;
  r.backward_flop_per_second = -1;
  refused(r, "backward_flop_per_second is -1, expected at least 1");
  r = good;
  r.forward_block_ps = -1;
  refused(r, "forward_block_ps is -1, expected at least 0");
  r = good;
  r.backward_block_ps = -2;
  refused(r, "backward_block_ps is -2, expected at least 0");
  r = good;
  r.forward_launch_ps = -3;
  refused(r, "forward_launch_ps is -3, expected at least 0");
  r = good;
  r.backward_launch_ps = -4;
  refused(r, "backward_launch_ps is -4, expected at least 0");
  CHECK_NOTHROW(validate(attention_rates{1, 1, 0, 0, 0, 0}));
}

}  // namespace
