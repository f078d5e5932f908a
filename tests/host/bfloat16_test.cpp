#include <libra/host/bfloat16.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace {

using libra::host::bfloat16;

constexpr float back(float x) { return static_cast<float>(bfloat16(x)); }

TEST_CASE("values with eight bits of significand stay as they are") {
  for (float const x : {0.0F, -0.0F, 1.0F, -2.5F, 255.0F, 3.3895314e38F}) {
    CHECK(back(x) == x);
    CHECK(std::signbit(back(x)) == std::signbit(x));
  }
  CHECK(back(std::numeric_limits<float>::infinity()) == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(back(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::isnan(back(std::numeric_limits<float>::signaling_NaN())));
}

TEST_CASE("others go to the nearest, ties to even") {
  constexpr float step = 1.0F / 128;  // between 1 and 2
  CHECK(back(1 + 0.25F * step) == 1);
  CHECK(back(1 + 0.75F * step) == 1 + step);
  CHECK(back(1 + 0.5F * step) == 1);             // its last bit is 0
  CHECK(back(1 + 1.5F * step) == 1 + 2 * step);  // 1 + step's is 1
  CHECK(back(-(1 + 1.5F * step)) == -(1 + 2 * step));
  CHECK(back(std::numeric_limits<float>::max()) == std::numeric_limits<float>::infinity());
}

TEST_CASE("every bf16 survives the way to float and back") {
  int wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    bfloat16 x;
    x.bits = static_cast<std::uint16_t>(bits);
    auto const wide = static_cast<float>(x);
    wrong += !std::isnan(wide) && !(bfloat16(wide) == x);
  }
  CHECK(wrong == 0);
}

}  // namespace
