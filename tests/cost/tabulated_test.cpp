#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/cost/tabulated.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using libra::attention_mask;
using libra::int128;
using libra::measured_block;
using libra::tabulated;
using libra::tile_shape;
using libra::work;

/// 128 to 1128 ps over 10 to 110 keys, then twice as steep.
std::vector<measured_block> const bent{{10, 1280, 12800}, {110, 11280, 12800}, {210, 31280, 25600}};

/// Picoseconds of a block at some keys, in 2^-12, from the definition.
int128 block_ps(std::vector<measured_block> const& points, std::int64_t keys) {
  if (keys <= points.front().keys) {
    return int128{points.front().forward_ps} << 12;
  }
  std::size_t i = 0;
  while (i + 2 < points.size() && points[i + 1].keys <= keys) {
    ++i;
  }
  int128 const slope =
      (int128{points[i + 1].forward_ps - points[i].forward_ps} << 12) / (points[i + 1].keys - points[i].keys);
  return (int128{points[i].forward_ps} << 12) + slope * (keys - points[i].keys);
}

TEST_CASE("by hand: whole blocks of rows with equal keys cost what was measured") {
  tabulated const cost(bent);
  auto const full = [&](std::int64_t keys) { return cost(tile_shape{0, 128, keys, 1, 64, attention_mask::full()}); };
  CHECK(full(10) == work{1280, 12800});
  CHECK(full(110) == work{11280, 12800});
  CHECK(full(60).forward == 1280 + 5000);
  CHECK(full(160).forward == 11280 + 10000);
  CHECK(full(310).forward == 31280 + 20000);  // beyond the last point
  CHECK(full(3).forward == 1280);             // before the first
  // A block is shared by the heads of a group; a row that is alone pays for the block.
  CHECK(cost(tile_shape{0, 32, 110, 4, 64, attention_mask::full()}).forward == 11280);
  CHECK(cost(tile_shape{0, 1, 110, 1, 64, attention_mask::full()}).forward == 11280);
  CHECK(cost(tile_shape{5, 5, 110, 1, 64, attention_mask::full()}) == work{0, 0});
}

TEST_CASE("every mask: the sum over the rows, by definition") {
  libra::random_bits bits(81);
  tabulated const cost(bent);
  for (int i = 0; i < 500; ++i) {
    tile_shape t{.length = bits.between(1, 400), .heads = static_cast<std::int32_t>(bits.between(1, 8))};
    t.q_begin = bits.between(0, t.length - 1);
    t.q_end = bits.between(t.q_begin + 1, t.length);
    std::uint64_t const kind = bits.below(3);
    t.mask = kind == 0   ? attention_mask::causal()
             : kind == 1 ? attention_mask::full()
                         : attention_mask::window(bits.between(1, 300));
    auto const keys = [&](std::int64_t row) {
      return kind == 0 ? row + 1 : kind == 1 ? t.length : std::min(row + 1, t.mask.width_tokens);
    };
    int128 sum = 0;
    for (std::int64_t row = t.q_begin; row < t.q_end; ++row) {
      sum += block_ps(bent, keys(row)) * t.heads;
    }
    int128 const packed = int128{t.q_end - t.q_begin} * t.heads;
    sum += (libra::ceil_div(packed, 128) * 128 - packed) * block_ps(bent, keys(t.q_begin));
    CAPTURE(i);
    REQUIRE(cost(t).forward == libra::ceil_div(sum, int128{128} << 12));
  }
}

TEST_CASE("cutting a tile never lowers the sum") {
  libra::random_bits bits(82);
  tabulated const cost(bent);
  for (int i = 0; i < 2000; ++i) {
    tile_shape t{.length = bits.between(2, 1000), .heads = static_cast<std::int32_t>(bits.between(1, 8))};
    t.q_begin = bits.between(0, t.length - 2);
    t.q_end = bits.between(t.q_begin + 2, t.length);
    if (bits.below(2) == 0) {
      t.mask = attention_mask::window(bits.between(1, 300));
    }
    tile_shape first = t;
    tile_shape second = t;
    first.q_end = second.q_begin = bits.between(t.q_begin + 1, t.q_end - 1);
    CAPTURE(i);
    REQUIRE(cost(first).forward + cost(second).forward >= cost(t).forward);
    REQUIRE(cost(first).backward + cost(second).backward >= cost(t).backward);
  }
}

TEST_CASE("sampled from rates it comes close to the roofline where blocks are full") {
  tabulated const sampled(libra::sample_blocks(libra::hopper_flash_attention, 128));
  tile_shape const t{0, 65536, 65536, 8, 128, {}};
  work const exact = libra::roofline{}(t);
  CHECK(static_cast<double>(sampled(t).forward) == doctest::Approx(static_cast<double>(exact.forward)).epsilon(0.01));
  CHECK(static_cast<double>(sampled(t).backward) == doctest::Approx(static_cast<double>(exact.backward)).epsilon(0.01));
}

TEST_CASE("points that cannot be used are named") {
  auto const make = [](std::vector<measured_block> const& points) { static_cast<void>(tabulated(points)); };
  CHECK_THROWS_WITH_AS(make({{10, 1, 1}}), "there are 1 measured points, expected at least 2", libra::input_error);
  CHECK_THROWS_WITH_AS(make({{10, 1, 1}, {10, 2, 2}}), "measured point 1 has 10 keys, expected 11 to 1099511627776",
                       libra::input_error);
  CHECK_THROWS_WITH_AS(make({{0, 1, 1}, {10, 2, 2}}), "measured point 0 has 0 keys, expected 1 to 1099511627776",
                       libra::input_error);
  CHECK_THROWS_WITH_AS(make({{1, 5, 1}, {10, 4, 2}}),
                       "measured point 1 takes 4 ps forward, expected 5 to 1125899906842624", libra::input_error);
  CHECK_THROWS_WITH_AS(make({{1, -5, 1}, {10, 4, 2}}),
                       "measured point 0 takes -5 ps forward, expected 0 to 1125899906842624", libra::input_error);
  CHECK_THROWS_WITH_AS(
      make({{1, 5, 0}, {2, 5, std::int64_t{1} << 40}}),
      "the last two measured points rise by 1099511627776 ps a key backward, expected at most 1073741824",
      libra::input_error);
}

TEST_CASE("work beyond 64 bits is an error that names the tile") {
  std::vector<measured_block> const slow{{1, std::int64_t{1} << 49, 0},
                                         {std::int64_t{1} << 20, std::int64_t{1} << 50, 0}};
  tile_shape const t{0, std::int64_t{1} << 40, std::int64_t{1} << 40, 8, 128, {}};
  CHECK_THROWS_AS(static_cast<void>(tabulated(slow)(t)), libra::range_error);
}

}  // namespace
