#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/cost/roofline.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace {

using libra::attention_mask;
using libra::attention_rates;
using libra::int128;
using libra::mask_kind;
using libra::roofline;
using libra::tile_shape;
using libra::work;

static_assert(std::is_trivially_copyable_v<roofline>);
static_assert(!std::is_convertible_v<attention_rates, roofline>);

/// One picosecond per key and query row of 16 channels, forward; 2.5 backward.
constexpr attention_rates unit_rates{.forward_flop_per_second = 64'000'000'000'000,
                                     .backward_flop_per_second = 64'000'000'000'000,
                                     .forward_block_ps = 0,
                                     .backward_block_ps = 0,
                                     .forward_launch_ps = 1'000'000,
                                     .backward_launch_ps = 1'000'000};

tile_shape shape(std::int64_t begin, std::int64_t end, std::int64_t length, std::int32_t heads,
                 attention_mask mask = attention_mask::causal()) {
  return {begin, end, length, heads, 16, mask};
}

/// Keys in the blocks of 128 that a row visits, by looking at each block.
std::int64_t visited(attention_mask const& mask, std::int64_t row, std::int64_t length) {
  std::int64_t keys = 0;
  for (std::int64_t block = 0; block < length; block += 128) {
    bool seen = mask.kind == mask_kind::full;
    for (std::int64_t key = block; key < std::min(block + 128, length) && !seen; ++key) {
      seen = key <= row && (mask.kind == mask_kind::causal || key > row - mask.width_tokens);
    }
    keys += seen ? 128 : 0;
  }
  return keys;
}

attention_mask random_mask(libra::random_bits& bits, std::int64_t most) {
  switch (bits.below(4)) {
    case 0:
      return attention_mask::causal();
    case 1:
      return attention_mask::full();
    default:
      return attention_mask::window(bits.between(1, most));
  }
}

TEST_CASE("whole blocks of rows cost the key blocks they visit") {
  constexpr roofline cost(unit_rates);
  CHECK(cost(shape(0, 128, 128, 1)) == work{128 * 128, 128 * 320});
  CHECK(cost(shape(128, 256, 256, 1)) == work{128 * 256, 128 * 640});
  CHECK(cost(shape(0, 256, 256, 2)).forward == 2 * (128 * 128 + 128 * 256));
  CHECK(cost(shape(0, 128, 1024, 1, attention_mask::full())).forward == 128 * 1024);
  CHECK(cost(shape(256, 384, 1024, 1, attention_mask::window(1))).forward == 128 * 128);
  CHECK(cost(shape(5, 5, 10, 4)) == work{});
}

TEST_CASE("a block is not paid by the row but as a whole") {
  constexpr roofline cost(unit_rates);
  CHECK(cost(shape(0, 1, 1, 1)).forward == 128 * 128);
  CHECK(cost(shape(0, 16, 16, 8)).forward == 128 * 128);  // rows of a group's heads fill one block
  CHECK(cost(shape(0, 17, 17, 8)).forward == 256 * 128);
}

TEST_CASE("costs agree with looking at every row, plus unfilled rows at no less than a key block each") {
  constexpr roofline cost(unit_rates);
  libra::random_bits bits(2);
  for (int i = 0; i < 1500; ++i) {
    std::int64_t const length = bits.between(1, 900);
    attention_mask const mask = random_mask(bits, 500);
    std::int64_t const end = bits.between(1, length);
    std::int64_t const begin = bits.between(0, end - 1);
    auto const heads = static_cast<std::int32_t>(bits.between(1, 9));
    std::int64_t keys = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t const of_row = visited(mask, row, length);
      keys += heads * of_row;
      least = std::min(least, of_row);
    }
    std::int64_t const unfilled = ((end - begin) * heads + 127) / 128 * 128 - (end - begin) * heads;
    std::int64_t const amount = cost(shape(begin, end, length, heads, mask)).forward;
    CAPTURE(i);
    REQUIRE(amount >= keys + unfilled * 128);
    REQUIRE(amount <= keys + unfilled * least);
    if (mask.kind != mask_kind::window) {
      REQUIRE(amount == keys + unfilled * visited(mask, begin, length));
    }
  }
}

TEST_CASE("picoseconds are within one of the exact ones") {
  libra::random_bits bits(3);
  for (int i = 0; i < 3000; ++i) {
    attention_rates rates = unit_rates;
    rates.forward_flop_per_second = bits.between(1'000'000'000'000, 2'000'000'000'000'000);
    std::int64_t const rows = 128 * bits.between(1, 2000);
    auto const heads = static_cast<std::int32_t>(bits.between(1, 16));
    tile_shape tile = shape(0, rows, rows, heads, attention_mask::full());
    tile.head_dim = static_cast<std::int32_t>(8 * bits.between(2, 32));
    int128 const flop = static_cast<int128>(rows) * rows * heads * 4 * tile.head_dim;
    int128 const exact = libra::ceil_div(flop * 1'000'000'000'000, rates.forward_flop_per_second);
    std::int64_t const amount = roofline(rates)(tile).forward;
    // Rates are rounded to 2^-40 ps per flop.
    int128 const slack = 1 + (flop >> 40);
    REQUIRE(amount <= exact);
    REQUIRE(amount >= exact - slack);
  }
}

TEST_CASE("the overhead is paid once per block of rows, the launch never") {
  attention_rates rates = unit_rates;
  rates.forward_block_ps = 1000;
  rates.backward_block_ps = 3000;
  auto const overhead = [&](tile_shape const& t) {
    work const with = roofline(rates)(t);
    work const without = roofline(unit_rates)(t);
    return work{with.forward - without.forward, with.backward - without.backward};
  };
  CHECK(overhead(shape(0, 1, 1, 1)) == work{1000, 3000});
  CHECK(overhead(shape(0, 128, 128, 1)) == work{1000, 3000});
  CHECK(overhead(shape(0, 129, 129, 1)) == work{2000, 6000});
  CHECK(overhead(shape(0, 128, 128, 7)) == work{7000, 21000});
}

TEST_CASE("cutting rows or heads never lowers the sum, under any mask") {
  constexpr std::array all_rates{unit_rates, libra::hopper_flash_attention};
  libra::random_bits bits(4);
  for (int i = 0; i < 40'000; ++i) {
    roofline const cost(all_rates[bits.below(2)]);
    std::int64_t const length = bits.between(1, 1500);
    attention_mask const mask = random_mask(bits, bits.below(2) == 0 ? 5 : 1000);
    std::int64_t const end = bits.between(1, length);
    std::int64_t const begin = bits.between(0, end - 1);
    std::int64_t const cut = bits.between(begin, end);
    auto const heads = static_cast<std::int32_t>(bits.between(1, 8));
    auto const some = static_cast<std::int32_t>(bits.between(0, heads));
    auto const check = [&](tile_shape const& whole, tile_shape const& a, tile_shape const& b) {
      REQUIRE(cost(a).forward + cost(b).forward >= cost(whole).forward);
      REQUIRE(cost(a).backward + cost(b).backward >= cost(whole).backward);
      REQUIRE(cost.of(whole, libra::pass::forward) == cost(whole).forward);
      REQUIRE(cost.of(whole, libra::pass::backward) == cost(whole).backward);
    };
    CAPTURE(i);
    CAPTURE(begin);
    CAPTURE(cut);
    CAPTURE(end);
    CAPTURE(heads);
    CAPTURE(static_cast<int>(mask.kind));
    CAPTURE(mask.width_tokens);
    tile_shape const whole = shape(begin, end, length, heads, mask);
    check(whole, shape(begin, cut, length, heads, mask), shape(cut, end, length, heads, mask));
    check(whole, shape(begin, end, length, some, mask), shape(begin, end, length, heads - some, mask));
  }
}

TEST_CASE("the case that once was cheaper cut: the first row visits more blocks than the next") {
  // Row 128 of a window of two sees keys in two blocks, the rows after it in one.
  constexpr roofline cost(unit_rates);
  attention_mask const mask = attention_mask::window(2);
  CHECK(cost(shape(128, 256, 400, 1, mask)).forward + cost(shape(256, 328, 400, 1, mask)).forward >=
        cost(shape(128, 328, 400, 1, mask)).forward);
}

TEST_CASE("more rows at the end, more heads or wider heads never cost less") {
  libra::random_bits bits(5);
  constexpr roofline cost(libra::hopper_flash_attention);
  for (int i = 0; i < 300; ++i) {
    std::int64_t const length = bits.between(2, 700);
    attention_mask const mask = random_mask(bits, 400);
    std::int64_t const begin = bits.between(0, length - 2);
    auto const heads = static_cast<std::int32_t>(bits.between(1, 8));
    for (std::int64_t end = begin + 1; end < length; ++end) {
      tile_shape const tile = shape(begin, end, length, heads, mask);
      tile_shape wider = tile;
      wider.head_dim += 8;
      for (tile_shape const& more :
           {shape(begin, end + 1, length, heads, mask), shape(begin, end, length, heads + 1, mask), wider}) {
        REQUIRE(cost(more).forward >= cost(tile).forward);
        REQUIRE(cost(more).backward >= cost(tile).backward);
      }
    }
  }
}

TEST_CASE("the largest tiles in use fit with room") {
  constexpr roofline cost(libra::hopper_flash_attention);
  constexpr std::int64_t n = 1 << 20;
  tile_shape document = shape(0, n, n, 64, attention_mask::full());
  document.head_dim = 256;
  CHECK(cost(document).backward > cost(document).forward);
  // 2^40 pairs, 64 heads, 4 * 256 flop at 623.5 TFLOP/s: 115.6 s.
  CHECK(cost(document).forward / 1'000'000'000 == 115'569);
}

TEST_CASE("work beyond 64 bits is an error that names the tile, however far beyond") {
  attention_rates slowest = unit_rates;
  slowest.forward_flop_per_second = 1;
  slowest.backward_flop_per_second = 1;
  attention_rates overhead = unit_rates;
  overhead.forward_block_ps = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
  for (attention_rates const& rates : {unit_rates, slowest, overhead}) {
    for (std::int64_t const n : {std::int64_t{1} << 38, std::int64_t{1} << 50, longest}) {
      for (std::int32_t const heads : {1, std::numeric_limits<std::int32_t>::max()}) {
        for (attention_mask const mask :
             {attention_mask::causal(), attention_mask::full(), attention_mask::window(longest)}) {
          try {
            static_cast<void>(roofline(rates)(shape(0, n, n, heads, mask)));
            FAIL("no error");
          } catch (libra::range_error const& e) {
            std::string const what = e.what();
            CHECK(what.find(libra::message("rows [0, ", n, ") of a segment of ", n, " tokens times ", heads,
                                           " heads")) != std::string::npos);
          }
        }
      }
    }
  }
}

TEST_CASE("the slowest rate there is still counts right") {
  attention_rates slowest = unit_rates;
  slowest.forward_flop_per_second = 1;
  slowest.backward_flop_per_second = 1'000'000;
  // One block: 128 * 128 * 4 * 16 flop at 1 flop/s are 1048576 s: 1.05e18 ps.
  CHECK(roofline(slowest)(shape(0, 1, 1, 1)) == work{1'048'576'000'000'000'000, 2'621'440'000'000});
}

TEST_CASE("bad rates are refused when the model is made") {
  attention_rates rates = unit_rates;
  rates.backward_flop_per_second = 0;
  CHECK_THROWS_WITH_AS(roofline{rates}, "backward_flop_per_second is 0, expected at least 1", libra::input_error);
  CHECK(roofline(unit_rates).rates() == unit_rates);
  CHECK(roofline().rates() == libra::hopper_flash_attention);
}

static_assert(roofline(unit_rates)(tile_shape{0, 128, 128, 1, 16, {}}) == work{128 * 128, 128 * 320});

}  // namespace
