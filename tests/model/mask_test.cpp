#include "support/printing.hpp"

#include <libra/model/mask.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace {

using libra::attention_mask;
using libra::int128;
using libra::mask_kind;
using libra::row_range;

static_assert(std::is_trivially_copyable_v<attention_mask> && std::is_trivially_copyable_v<row_range>);

/// The definition, one pair at a time.
bool sees(attention_mask const& mask, std::int64_t row, std::int64_t key) {
  switch (mask.kind) {
    case mask_kind::full:
      return true;
    case mask_kind::window:
      return key <= row && key > row - mask.width_tokens;
    case mask_kind::causal:
      break;
  }
  return key <= row;
}

std::vector<attention_mask> all_masks() {
  std::vector<attention_mask> masks{attention_mask::causal(), attention_mask::full()};
  for (std::int64_t const width : {1, 2, 3, 7, 19, 20, 21, 1000}) {
    masks.push_back(attention_mask::window(width));
  }
  return masks;
}

TEST_CASE("pairs, visible keys and spans agree with the definition, pair by pair") {
  for (attention_mask const& mask : all_masks()) {
    CAPTURE(static_cast<int>(mask.kind));
    CAPTURE(mask.width_tokens);
    for (std::int64_t length = 1; length <= 20; ++length) {
      for (std::int64_t begin = 0; begin < length; ++begin) {
        int128 pairs = 0;
        row_range span{length, 0};
        for (std::int64_t end = begin + 1; end <= length; ++end) {
          row_range seen{length, 0};
          for (std::int64_t key = 0; key < length; ++key) {
            if (sees(mask, end - 1, key)) {
              ++pairs;
              seen = {std::min(seen.begin, key), std::max(seen.end, key + 1)};
            }
          }
          span = {std::min(span.begin, seen.begin), std::max(span.end, seen.end)};
          REQUIRE(mask.pairs(begin, end, length) == pairs);
          REQUIRE(mask.visible(end - 1, length) == seen);
          REQUIRE(mask.span(begin, end, length) == span);
        }
        REQUIRE(mask.pairs(begin, begin, length) == 0);
      }
    }
  }
}

TEST_CASE("a panel is the span from the last key block at or before it") {
  for (std::int64_t const width : {1, 100, 128, 129, 200, 300}) {
    auto const mask = attention_mask::window(width);
    for (std::int64_t begin = 0; begin < 600; begin += 7) {
      row_range const span = mask.span(begin, begin + 5, 700);
      row_range const panel = mask.panel(begin, begin + 5, 700);
      CHECK(panel.begin % libra::key_block == 0);
      CHECK(panel.begin <= span.begin);
      CHECK(span.begin - panel.begin < libra::key_block);
      CHECK(panel.end == span.end);
    }
  }
  CHECK(attention_mask::causal().panel(300, 400, 700) == row_range{0, 400});
  CHECK(attention_mask::full().panel(300, 400, 700) == row_range{0, 700});
}

TEST_CASE("closed forms at lengths whose pairs exceed 64 bits") {
  constexpr std::int64_t n = std::int64_t{1} << 40;
  int128 const square = static_cast<int128>(n) * n;
  CHECK(attention_mask::full().pairs(0, n, n) == square);
  CHECK(attention_mask::causal().pairs(0, n, n) == (square + n) / 2);
  CHECK(attention_mask::causal().pairs(n - 1, n, n) == n);
  CHECK(attention_mask::window(n).pairs(0, n, n) == (square + n) / 2);
  CHECK(attention_mask::window(1).pairs(0, n, n) == n);
  CHECK(attention_mask::window(10).pairs(0, n, n) == static_cast<int128>(n) * 10 - 45);
  constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
  CHECK(attention_mask::causal().pairs(0, longest, longest) ==
        static_cast<int128>(longest) * (static_cast<int128>(1) << 62));
}

TEST_CASE("a window of no tokens is refused by value") {
  CHECK_THROWS_WITH_AS(static_cast<void>(attention_mask::window(0)),
                       "attention window is 0 tokens, expected at least 1", libra::input_error);
  CHECK_THROWS_AS(static_cast<void>(attention_mask::window(-4)), libra::input_error);
}

TEST_CASE("masks compare by kind and width") {
  CHECK(attention_mask{} == attention_mask::causal());
  CHECK(attention_mask::causal() != attention_mask::full());
  CHECK(attention_mask::window(3) == attention_mask::window(3));
  CHECK(attention_mask::window(3) != attention_mask::window(4));
}

static_assert(attention_mask::causal().pairs(2, 4, 10) == 7);
static_assert(row_range{3, 10}.size() == 7);

}  // namespace
