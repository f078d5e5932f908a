#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/pack/longest_first_order.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::longest_first_order;
using libra::segment;
using libra::sized_piece;

TEST_CASE("by hand: equal pieces keep their order") {
  std::vector<segment> const pieces{{{}, 0, 3}, {{}, 0, 7}, {{}, 0, 3}, {{}, 0, 7}, {{}, 0, 5000}};
  CHECK(longest_first_order(pieces) == std::vector<sized_piece>{{5000, 4}, {7, 1}, {7, 3}, {3, 0}, {3, 2}});
  CHECK(longest_first_order({}).empty());
}

TEST_CASE("sorts as a stable sort by falling length does, whatever the number of digits") {
  libra::random_bits bits(75);
  for (int i = 0; i < 300; ++i) {
    std::int64_t const most = std::int64_t{1} << bits.between(0, 40);
    std::vector<segment> pieces(bits.below(80));
    std::vector<sized_piece> expected;
    for (segment& p : pieces) {
      p.length = bits.between(0, most);
      expected.push_back({p.length, expected.size()});
    }
    std::ranges::stable_sort(expected, std::ranges::greater{}, &sized_piece::length);
    CAPTURE(i);
    REQUIRE(longest_first_order(pieces) == expected);
  }
}

}  // namespace
