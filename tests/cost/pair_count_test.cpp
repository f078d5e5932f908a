#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/cost/pair_count.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

namespace {

using libra::attention_mask;
using libra::pair_count;
using libra::tile_shape;
using libra::work;

static_assert(std::is_trivially_copyable_v<pair_count> && std::is_empty_v<pair_count>);

tile_shape shape(std::int64_t begin, std::int64_t end, std::int64_t length, std::int32_t heads,
                 attention_mask mask = attention_mask::causal()) {
  return {begin, end, length, heads, 128, mask};
}

TEST_CASE("two units forward and five backward per visible pair and head") {
  constexpr pair_count cost;
  CHECK(cost(shape(0, 1, 1, 1)) == work{2, 5});
  CHECK(cost(shape(0, 4, 4, 1)) == work{20, 50});
  CHECK(cost(shape(2, 4, 4, 3)) == work{42, 105});  // rows 2 and 3 see 3 + 4 keys
  CHECK(cost(shape(0, 4, 4, 1, attention_mask::full())) == work{32, 80});
  CHECK(cost(shape(0, 4, 4, 2, attention_mask::window(2))) == work{28, 70});  // 1 + 2 + 2 + 2
  CHECK(cost(shape(3, 3, 4, 2)) == work{});
}

TEST_CASE("the head dimension does not count") {
  tile_shape wide = shape(0, 100, 100, 4);
  wide.head_dim = 256;
  CHECK(pair_count{}(wide) == pair_count{}(shape(0, 100, 100, 4)));
}

TEST_CASE("cutting rows or heads costs nothing") {
  libra::random_bits bits(1);
  for (int i = 0; i < 2000; ++i) {
    std::int64_t const length = bits.between(2, 3000);
    attention_mask const masks[]{attention_mask::causal(), attention_mask::full(),
                                 attention_mask::window(bits.between(1, 3000))};
    attention_mask const mask = masks[bits.below(3)];
    std::int64_t const end = bits.between(2, length);
    std::int64_t const begin = bits.between(0, end - 1);
    std::int64_t const cut = bits.between(begin, end);
    auto const heads = static_cast<std::int32_t>(bits.between(2, 16));
    auto const some = static_cast<std::int32_t>(bits.between(1, heads - 1));
    constexpr pair_count cost;
    work const whole = cost(shape(begin, end, length, heads, mask));
    work const above = cost(shape(begin, cut, length, heads, mask));
    work const below = cost(shape(cut, end, length, heads, mask));
    REQUIRE(work{above.forward + below.forward, above.backward + below.backward} == whole);
    work const left = cost(shape(begin, end, length, some, mask));
    work const right = cost(shape(begin, end, length, heads - some, mask));
    REQUIRE(work{left.forward + right.forward, left.backward + right.backward} == whole);
  }
}

TEST_CASE("a whole document of a million tokens and 64 heads fits a tile") {
  constexpr std::int64_t n = 1 << 20;
  CHECK(pair_count{}(shape(0, n, n, 64)).backward == 5 * 64 * (n * (n + 1) / 2));
}

TEST_CASE("work beyond 64 bits is an error that names the tile, however far beyond") {
  constexpr std::int64_t n = std::int64_t{1} << 32;
  CHECK_THROWS_WITH_AS(static_cast<void>(pair_count{}(shape(0, n, n, 64))),
                       "work of rows [0, 4294967296) of a segment of 4294967296 tokens times 64 heads is "
                       "9223372039002259456 pairs a head, beyond 64 bits",
                       libra::range_error);
  constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
  for (attention_mask const mask :
       {attention_mask::causal(), attention_mask::full(), attention_mask::window(longest)}) {
    for (std::int32_t const heads : {1, 64, std::numeric_limits<std::int32_t>::max()}) {
      try {
        static_cast<void>(pair_count{}(shape(0, longest, longest, heads, mask)));
        FAIL("no error");
      } catch (libra::range_error const& e) {
        std::string const what = e.what();
        CHECK(what.find("rows [0, 9223372036854775807) of a segment of 9223372036854775807 tokens times " +
                        std::to_string(heads) + " heads") != std::string::npos);
      }
    }
  }
}

TEST_CASE("the last work that fits, and the first that does not") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 5;
  // A window of one key: as many pairs as rows.
  CHECK(pair_count{}(shape(0, most, most, 1, attention_mask::window(1))) == work{most * 2, most * 5});
  CHECK_THROWS_AS(static_cast<void>(pair_count{}(shape(0, most + 1, most + 1, 1, attention_mask::window(1)))),
                  libra::range_error);
}

static_assert(pair_count{}(tile_shape{0, 4, 4, 1, 128, {}}) == work{20, 50});

}  // namespace
