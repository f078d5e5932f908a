#include "support/printing.hpp"

#include <libra/plan/fingerprint.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <type_traits>

namespace {

using libra::digest;
using libra::first_difference;
using libra::placement_fingerprint;
using libra::pool_fingerprint;

static_assert(std::is_trivially_copyable_v<placement_fingerprint> && std::is_trivially_copyable_v<pool_fingerprint>);

TEST_CASE("equal fingerprints differ in nothing") {
  CHECK(first_difference(placement_fingerprint{}, placement_fingerprint{}) == std::nullopt);
  CHECK(first_difference(pool_fingerprint{}, pool_fingerprint{}) == std::nullopt);
}

TEST_CASE("the first field that differs is named, and changes the combined digest") {
  placement_fingerprint const a{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  placement_fingerprint b = a;
  std::set<digest> combined{a.combined()};
  b.slots.low = 0;
  CHECK(first_difference(a, b) == "slots");
  combined.insert(b.combined());
  b.packing.high = 0;
  CHECK(first_difference(a, b) == "packing");
  combined.insert(b.combined());
  b.configuration.low = 0;
  CHECK(first_difference(a, b) == "configuration");
  combined.insert(b.combined());
  b.inputs.low = 0;
  CHECK(first_difference(a, b) == "inputs");
  combined.insert(b.combined());
  CHECK(combined.size() == 5);
}

TEST_CASE("so it is for pools") {
  pool_fingerprint const a{{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}};
  pool_fingerprint b = a;
  std::set<digest> combined{a.combined()};
  b.program_backward.low = 0;
  CHECK(first_difference(a, b) == "program_backward");
  combined.insert(b.combined());
  b.program_forward.high = 0;
  CHECK(first_difference(a, b) == "program_forward");
  combined.insert(b.combined());
  b.tiles_backward.low = 0;
  CHECK(first_difference(a, b) == "tiles_backward");
  combined.insert(b.combined());
  b.tiles_forward.low = 0;
  CHECK(first_difference(a, b) == "tiles_forward");
  combined.insert(b.combined());
  b.batch.low = 0;
  CHECK(first_difference(a, b) == "batch");
  combined.insert(b.combined());
  CHECK(combined.size() == 6);
}

TEST_CASE("fields that are exchanged do not combine to the same") {
  CHECK(placement_fingerprint{{1, 2}, {3, 4}, {}, {}}.combined() !=
        placement_fingerprint{{3, 4}, {1, 2}, {}, {}}.combined());
}

}  // namespace
