#include "support/packs.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/pack/bin_bound.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace {

using libra::best_fit_decreasing;
using libra::bin_lower_bound;

std::int64_t bound(std::vector<std::int64_t> const& lengths, std::int64_t window) {
  return bin_lower_bound(best_fit_decreasing{}(lengths, window));
}

TEST_CASE("by hand: tokens, halves, and what does not fit beside the long ones") {
  CHECK(bound({}, 10) == 0);
  CHECK(bound({3, 3, 3}, 10) == 1);
  CHECK(bound({5, 5, 1}, 10) == 2);
  CHECK(bound({6, 6, 6}, 10) == 3);        // 18 tokens would need two
  CHECK(bound({7, 7, 4, 4, 4}, 10) == 4);  // 26 tokens would need three; nothing of 4 fits beside 7
  CHECK(bound({25}, 10) == 3);
}

TEST_CASE("never above the fewest sequences, and often equal to them") {
  libra::random_bits bits(74);
  int equal = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(bits.between(1, 9)));
    for (std::int64_t& length : lengths) {
      length = bits.between(1, 60);
    }
    auto const fewest = static_cast<std::int64_t>(libra::test::fewest_windows(lengths, 60));
    std::int64_t const least = bound(lengths, 60);
    REQUIRE(least <= fewest);
    equal += least == fewest ? 1 : 0;
  }
  CHECK(equal >= 350);
}

}  // namespace
