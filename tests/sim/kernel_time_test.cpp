#include <libra/sim/kernel_time.hpp>

#include <libra/core/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

using libra::attention_mask;
using libra::mask_kind;
using libra::pass;
using libra::random_bits;
using libra::row_range;
using libra::tile_shape;
using libra::sim::kernel_time;

namespace {

/// A flop a picosecond and nothing else, so that times count visited keys.
constexpr libra::attention_rates counting{.forward_flop_per_second = 1'000'000'000'000,
                                          .backward_flop_per_second = 1'000'000'000'000};

tile_shape random_tile(random_bits& bits) {
  std::int64_t const length = bits.between(1, 900);
  std::int64_t const begin = bits.between(0, length - 1);
  tile_shape t{begin, bits.between(begin + 1, length), length, static_cast<std::int32_t>(bits.between(1, 8)), 64, {}};
  switch (bits.below(3)) {
    case 0:
      t.mask = attention_mask::full();
      break;
    case 1:
      t.mask = attention_mask::window(bits.between(1, 400));
      break;
    default:
      break;
  }
  return t;
}

/// Visited keys counted one row and block at a time.
std::int64_t visited(tile_shape const& t, row_range keys) {
  constexpr std::int64_t block = libra::key_block;
  std::int64_t count = 0;
  std::int64_t const packed = (t.q_end - t.q_begin) * t.heads;
  std::int64_t const unfilled = (packed + 127) / 128 * 128 - packed;
  for (std::int64_t row = t.q_begin; row < t.q_end; ++row) {
    row_range const seen = t.mask.visible(row, t.length);
    for (std::int64_t b = 0; b < (t.length + block - 1) / block; ++b) {
      bool const of_row = b >= seen.begin / block && b <= (seen.end - 1) / block;
      bool const of_keys = keys.size() > 0 && b >= keys.begin / block && b <= (keys.end - 1) / block;
      count += of_row && of_keys ? block * (t.heads + (row == t.q_begin ? unfilled : 0)) : 0;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("a whole tile takes roofline's time") {
  random_bits bits(1);
  kernel_time const time(libra::hopper_flash_attention);
  libra::roofline const cost(libra::hopper_flash_attention);
  for (int round = 0; round < 500; ++round) {
    tile_shape const t = random_tile(bits);
    row_range const keys = t.mask.panel(t.q_begin, t.q_end, t.length);
    CHECK(time(t, keys, pass::forward) == cost(t).forward);
    CHECK(time(t, keys, pass::backward) == cost(t).backward);
  }
}

TEST_CASE("a tile restricted to some keys takes the blocks that it visits") {
  random_bits bits(2);
  kernel_time const time(counting);
  for (int round = 0; round < 2000; ++round) {
    tile_shape const t = random_tile(bits);
    row_range keys{bits.between(0, t.length - 1), 0};
    keys.end = bits.between(keys.begin + 1, t.length);
    row_range const seen = t.mask.panel(t.q_begin, t.q_end, t.length);
    if (keys.begin <= seen.begin && keys.end >= seen.end) {
      continue;
    }
    std::int64_t const expected = visited(t, keys) * 4 * t.head_dim;
    CHECK(time(t, keys, pass::forward) == expected);
    CHECK(time(t, keys, pass::backward) == expected / 4 * 10);
  }
}

TEST_CASE("parts that meet at key blocks add up to the whole, and each pays for its rows") {
  random_bits bits(3);
  kernel_time const plain(counting);
  libra::attention_rates rates = counting;
  rates.forward_block_ps = 1000;
  kernel_time const with_blocks(rates);
  for (int round = 0; round < 500; ++round) {
    tile_shape const t = random_tile(bits);
    std::int64_t const cut = bits.between(0, t.length / libra::key_block) * libra::key_block;
    row_range const first{0, std::min(cut, t.length)};
    row_range const second{first.end, t.length};
    auto const parts = [&](kernel_time const& time) {
      return time(t, first, pass::forward) + time(t, second, pass::forward);
    };
    std::int64_t const whole = plain(t, {0, t.length}, pass::forward);
    // A window's unfilled rows are charged at up to a block more in parts.
    CHECK(parts(plain) >= whole);
    CHECK((parts(plain) == whole || t.mask.kind == mask_kind::window));
    CHECK(parts(with_blocks) >= with_blocks(t, {0, t.length}, pass::forward));
  }
}

TEST_CASE("a launch costs what the rates say") {
  kernel_time const time(libra::hopper_flash_attention);
  CHECK(time.launch_ps(pass::forward) == 31'700'000);
  CHECK(time.launch_ps(pass::backward) == 40'000'000);
}

TEST_CASE("a time beyond 64 bits is an error") {
  libra::attention_rates rates = counting;
  rates.forward_flop_per_second = 1;
  tile_shape const t{0, 1 << 20, 1 << 20, 1, 128, attention_mask::causal()};
  CHECK_THROWS_AS(static_cast<void>(kernel_time(rates)(t, {0, 128}, pass::forward)), libra::range_error);
}
