#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/pack/arrange.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <numeric>
#include <vector>

namespace {

using libra::document_id;
using libra::home_layout;
using libra::packing;
using libra::segment;

packing one_sequence(std::initializer_list<std::int64_t> lengths, std::int64_t window) {
  packing packed;
  packed.window_tokens = window;
  std::int64_t document = 0;
  for (std::int64_t const length : lengths) {
    packed.sequences.push_back({document_id(document++), 0, length});
    packed.tokens += length;
  }
  packed.sequences.close_row();
  return packed;
}

std::vector<std::int64_t> documents(packing const& packed, std::size_t s) {
  std::vector<std::int64_t> ids;
  for (segment const& piece : packed.sequences[s]) {
    ids.push_back(piece.document.value);
  }
  return ids;
}

/// Segments that would fit a shard and still lie on two.
int straddlers(packing const& packed, home_layout const& home) {
  int count = 0;
  for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
    std::int64_t at = 0;
    for (segment const& piece : packed.sequences[s]) {
      bool const fits = piece.length <= (home.window_tokens + home.cp - 1) / home.cp;
      count += fits && home.rank_of(at) != home.rank_of(at + piece.length - 1) ? 1 : 0;
      at += piece.length;
    }
  }
  return count;
}

TEST_CASE("one rank a group: nothing to arrange") {
  packing packed = one_sequence({3, 4, 1, 4}, 12);
  arrange_for_home(packed, {12, 1});
  CHECK(packed == one_sequence({3, 4, 1, 4}, 12));
}

TEST_CASE("each shard takes the longest that still fits") {
  // Shards of four: 4, 4, 3 + 1.
  packing packed = one_sequence({3, 4, 1, 4}, 12);
  arrange_for_home(packed, {12, 3});
  CHECK(documents(packed, 0) == std::vector<std::int64_t>{1, 3, 0, 2});
  CHECK(straddlers(packed, {12, 3}) == 0);
}

TEST_CASE("shards take like shares of the work: not all the long ones go into the first") {
  // Shards of twelve: each gets one of eight and four of one, where longest first would fill them 8 + 1 x 4 and 4 x 3.
  packing packed = one_sequence({8, 8, 4, 4, 4, 4, 1, 1, 1, 1}, 36);
  arrange_for_home(packed, {36, 3});
  CHECK(documents(packed, 0) == std::vector<std::int64_t>{0, 6, 7, 8, 9, 1, 2, 3, 4, 5});
}

TEST_CASE("a segment longer than a shard bridges the rest of one") {
  // Shards of four: 3, then 1 left that only the long one fills; it ends at 9, and 2 fits behind it.
  packing packed = one_sequence({6, 3, 2}, 12);
  arrange_for_home(packed, {12, 3});
  CHECK(documents(packed, 0) == std::vector<std::int64_t>{1, 0, 2});
  CHECK(straddlers(packed, {12, 3}) == 0);
}

TEST_CASE("without one, the shortest straddles") {
  packing packed = one_sequence({3, 3, 3, 2}, 12);
  arrange_for_home(packed, {12, 3});
  CHECK(documents(packed, 0) == std::vector<std::int64_t>{0, 3, 1, 2});
  CHECK(straddlers(packed, {12, 3}) == 1);
}

TEST_CASE("shards of unequal size: a segment as long as the largest fits only there") {
  // Window 10 over 3 ranks: shards [0, 3), [3, 6), [6, 10).
  packing packed = one_sequence({4, 3, 3}, 10);
  arrange_for_home(packed, {10, 3});
  CHECK(documents(packed, 0) == std::vector<std::int64_t>{1, 2, 0});
  CHECK(straddlers(packed, {10, 3}) == 0);
}

TEST_CASE("keeps every segment, the order of equal ones, and the rows") {
  libra::random_bits bits(9);
  int before = 0;
  int after = 0;
  for (int i = 0; i < 1000; ++i) {
    home_layout const home{bits.between(1, 60), static_cast<std::int32_t>(bits.between(1, 8))};
    packing packed;
    packed.window_tokens = home.window_tokens;
    std::int64_t document = 0;
    for (std::uint64_t s = bits.below(4); s > 0; --s) {
      for (std::int64_t room = home.window_tokens - bits.between(0, home.window_tokens - 1); room > 0;) {
        std::int64_t const length = bits.between(1, std::min(room, bits.between(1, home.window_tokens)));
        packed.sequences.push_back({document_id(document++), bits.between(0, 5), length});
        room -= length;
      }
      packed.sequences.close_row();
    }
    packing arranged = packed;
    arrange_for_home(arranged, home);
    REQUIRE(std::ranges::equal(arranged.sequences.offsets(), packed.sequences.offsets()));
    for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
      auto const by_length = [&](packing const& p) {
        std::map<std::int64_t, std::vector<std::int64_t>> classes;
        for (segment const& piece : p.sequences[s]) {
          classes[piece.length].push_back(piece.document.value);
        }
        return classes;
      };
      REQUIRE(by_length(arranged) == by_length(packed));
      for (segment const& piece : arranged.sequences[s]) {
        REQUIRE(std::ranges::count(packed.sequences[s], piece) == 1);
      }
    }
    before += straddlers(packed, home);
    after += straddlers(arranged, home);
  }
  CHECK(after * 2 < before);
}

}  // namespace
