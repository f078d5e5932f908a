#include "support/printing.hpp"

#include <libra/model/home.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace {

using libra::home_layout;
using libra::row_range;

static_assert(std::is_trivially_copyable_v<home_layout>);

TEST_CASE(
    "every window and group up to 20: shards are [cT/C, (c+1)T/C), and rank_of finds each position in its shard") {
  for (std::int64_t window = 1; window <= 20; ++window) {
    for (std::int32_t cp = 1; cp <= 20; ++cp) {
      CAPTURE(window);
      CAPTURE(cp);
      home_layout const home{window, cp};
      std::int64_t total = 0;
      for (std::int32_t c = 0; c < cp; ++c) {
        REQUIRE(home.shard_begin(c) == c * window / cp);
        REQUIRE(home.shard_begin(c) == total);
        REQUIRE(home.local_tokens(c) >= window / cp);
        REQUIRE(home.local_tokens(c) <= (window + cp - 1) / cp);
        for (std::int64_t at = total; at < total + home.local_tokens(c); ++at) {
          REQUIRE(home.rank_of(at) == c);
        }
        total += home.local_tokens(c);
      }
      REQUIRE(total == window);
      REQUIRE(home.shard_begin(cp) == window);
    }
  }
}

TEST_CASE("pieces are the maximal runs of one rank, in order, with their local rows") {
  for (std::int64_t window = 1; window <= 14; ++window) {
    for (std::int32_t cp = 1; cp <= 16; ++cp) {
      home_layout const home{window, cp};
      for (std::int64_t begin = 0; begin < window; ++begin) {
        for (std::int64_t end = begin + 1; end <= window; ++end) {
          std::int64_t next = begin;
          std::int32_t last = -1;
          home.for_each_piece({begin, end}, [&](std::int32_t c, row_range positions, std::int64_t local_begin) {
            REQUIRE(c > last);
            REQUIRE(positions.begin == next);
            REQUIRE(positions.size() >= 1);
            REQUIRE(local_begin == positions.begin - c * window / cp);
            for (std::int64_t at = positions.begin; at < positions.end; ++at) {
              REQUIRE(home.rank_of(at) == c);
            }
            last = c;
            next = positions.end;
          });
          REQUIRE(next == end);
        }
      }
    }
  }
}

TEST_CASE("no positions, no pieces") {
  home_layout{10, 3}.for_each_piece({4, 4}, [](std::int32_t, row_range, std::int64_t) { CHECK(false); });
}

TEST_CASE("the largest layout that is accepted does not overflow") {
  constexpr std::int64_t window = std::int64_t{1} << 40;
  constexpr std::int32_t cp = std::int32_t{1} << 22;
  constexpr home_layout home{window, cp};
  static_assert(home.shard_begin(cp) == window);
  static_assert(home.shard_begin(cp - 1) == window - (window / cp));
  static_assert(home.rank_of(window - 1) == cp - 1);
  static_assert(home.local_tokens(cp - 1) == window / cp);
  CHECK(home.rank_of(0) == 0);
}

}  // namespace
