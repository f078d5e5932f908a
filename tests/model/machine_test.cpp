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

TEST_CASE("machines that nobody measured are an H100 by the ratio of their datasheets") {
  using libra::a100_80g;
  using libra::h100_sxm;
  // 312 of 989 TFLOP/s, 300 of 450 and 25 of 50 GB/s.
  CHECK(a100_80g.attention.forward_flop_per_second / 1'000'000'000'000 == 196);
  CHECK(a100_80g.attention.forward_launch_ps == h100_sxm.attention.forward_launch_ps);
  CHECK(a100_80g.attention.backward_block_ps == h100_sxm.attention.backward_block_ps);
  CHECK(a100_80g.linear_flop_per_second / 1'000'000'000'000 == 126);
  CHECK(a100_80g.links.node_bytes_per_second / 1'000'000'000 == 266);
  CHECK(a100_80g.links.network_bytes_per_second == 24'000'000'000);
  CHECK(libra::h800.links.network_bytes_per_second == h100_sxm.links.network_bytes_per_second);
  CHECK(libra::h800.attention == h100_sxm.attention);
  CHECK(libra::h20.links == h100_sxm.links);
  CHECK(libra::gb200_nvl72.links.ranks_per_node == 72);
  CHECK(libra::gb200_nvl72.attention.backward_flop_per_second > 2 * h100_sxm.attention.backward_flop_per_second);
}

TEST_CASE("each figure of a machine is refused by name and value") {
  auto const refused = [](machine const& m, char const* why) {
    CHECK_THROWS_WITH_AS(validate(m), why, libra::input_error);
  };
  machine m = libra::h200_sxm;
  CHECK_NOTHROW(validate(m));
  m.linear_flop_per_second = 0;
  refused(m, "linear_flop_per_second is 0, expected at least 1");
  m = libra::h200_sxm;
  m.memory_bytes_per_second = -1;
  refused(m, "memory_bytes_per_second is -1, expected at least 0");
  m = libra::h200_sxm;
  m.peer_bytes_per_second = -1;
  refused(m, "peer_bytes_per_second is -1, expected at least 0");
  m = libra::h200_sxm;
  m.sm_factor_permille = 999;
  refused(m, "sm_factor_permille is 999, expected at least 1000");
  m = libra::h200_sxm;
  m.links.ranks_per_node = 0;
  refused(m, "ranks_per_node is 0, expected at least 1");
}

}  // namespace
