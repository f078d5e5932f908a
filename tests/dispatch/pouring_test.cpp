#include "support/coverage.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pouring.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using libra::int128;
using libra::pass;
using libra::pool_batch;
using libra::tile;

TEST_CASE("covers every row and head once in both passes, under every cost model") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    pool_batch const batch = libra::test::random_pool(seed, {.tokens = 2500});
    INFO("seed ", seed, ": ", libra::test::describe(batch));
    for (pass const p : {pass::forward, pass::backward}) {
      REQUIRE(libra::test::coverage_error(batch, libra::detail::pour(batch, libra::pair_count{}, p)) == "");
      REQUIRE(libra::test::coverage_error(batch, libra::detail::pour(batch, libra::roofline{}, p)) == "");
      REQUIRE(libra::test::coverage_error(batch, libra::detail::pour(batch, libra::archetype::cost{}, p)) == "");
    }
  }
}

TEST_CASE("tiles are listed by rank, segment, head and row") {
  pool_batch const batch = libra::test::random_pool(5);
  std::vector<tile> const tiles = libra::detail::pour(batch, libra::pair_count{}, pass::forward);
  CHECK(std::ranges::is_sorted(tiles, {},
                               [](tile const& t) { return std::tuple(t.rank, t.segment, t.head_begin, t.q_begin); }));
}

TEST_CASE("no segments, no tiles") {
  pool_batch batch;
  batch.home = {10, 2};
  batch.slots = 2;
  CHECK(libra::detail::pour(batch, libra::pair_count{}, pass::forward).empty());
}

TEST_CASE("work that is finer than the shares is spread within a few percent of the mean") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    pool_batch const batch = libra::test::random_pool(seed, {.dp = 4, .cp = 3, .tokens = 4000});
    INFO("seed ", seed, ": ", libra::test::describe(batch));
    std::vector<int128> load(static_cast<std::size_t>(batch.ranks()));
    int128 total = 0;
    for (tile const& t : libra::detail::pour(batch, libra::pair_count{}, pass::forward)) {
      int128 const amount = libra::pair_count{}(batch.shape_of(t)).forward;
      load[t.rank.index()] += amount;
      total += amount;
    }
    // The finest unit there is: 16 rows of one head of the longest segment.
    std::int64_t longest = 0;
    for (auto const& s : batch.segments) {
      longest = std::max(longest, s.what.length);
    }
    int128 const unit = 2 * 16 * longest;
    int128 const mean = libra::ceil_div(total, batch.ranks());
    REQUIRE(*std::ranges::max_element(load) <= mean + std::max(unit * 2, mean / 50));
  }
}

}  // namespace
