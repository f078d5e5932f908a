#include <libra/model/topology.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

using libra::topology;

static_assert(std::is_trivially_copyable_v<topology>);

TEST_CASE("each field is refused by name and value") {
  auto const refused = [](topology const& t, char const* why) {
    CHECK_THROWS_WITH_AS(validate(t), why, libra::input_error);
  };
  refused({.ranks_per_node = 0}, "ranks_per_node is 0, expected at least 1");
  refused({.node_bytes_per_second = 0}, "node_bytes_per_second is 0, expected at least 1");
  refused({.network_bytes_per_second = -1}, "network_bytes_per_second is -1, expected at least 1");
  refused({.node_latency_ps = -1}, "node_latency_ps is -1, expected at least 0");
  refused({.network_latency_ps = -9}, "network_latency_ps is -9, expected at least 0");
  CHECK_NOTHROW(validate(topology{}));
  CHECK_NOTHROW(validate(topology{1, 1, 1, 0, 0}));
}

TEST_CASE("topologies compare field by field") {
  CHECK(topology{} == topology{});
  CHECK(topology{} != topology{.ranks_per_node = 4});
  CHECK(topology{} != topology{.network_latency_ps = 1});
}

}  // namespace
