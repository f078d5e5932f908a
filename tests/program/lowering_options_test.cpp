#include <libra/program/lowering_options.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

static_assert(std::is_trivially_copyable_v<libra::lowering_options>);

TEST_CASE("defaults: one wave, keys are gathered, bf16 activations and fp32 sums") {
  libra::lowering_options const options;
  CHECK(options.waves == 1);
  CHECK(options.flow == libra::key_flow::gather);
  CHECK(options.width == libra::element_bytes{2, 4, 4});
}

}  // namespace
