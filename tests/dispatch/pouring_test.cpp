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

/// All of a batch, poured over all of its ranks.
template <class Cost>
std::vector<tile> pour(pool_batch const& batch, Cost const& cost, pass p) {
  libra::detail::pool_work<Cost> const work(batch, cost, p);
  std::vector<libra::detail::share> shares;
  for (std::size_t s = 0; s < batch.segments.size(); ++s) {
    libra::segment_id const id(s);
    for (std::int32_t h = 0; h < batch.shape.q_heads; h += batch.shape.group()) {
      shares.push_back({id, h, h + batch.shape.group(), 0, batch.length(id)});
    }
  }
  std::vector<tile> tiles;
  libra::detail::pouring<Cost>(work, 0, batch.ranks(), shares).run(tiles);
  return tiles;
}

TEST_CASE("covers every row and head once in both passes, under every cost model") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    pool_batch const batch = libra::test::random_pool(seed, {.tokens = 2500});
    INFO("seed ", seed, ": ", libra::test::describe(batch));
    for (pass const p : {pass::forward, pass::backward}) {
      REQUIRE(libra::test::coverage_error(batch, pour(batch, libra::pair_count{}, p)) == "");
      REQUIRE(libra::test::coverage_error(batch, pour(batch, libra::roofline{}, p)) == "");
      REQUIRE(libra::test::coverage_error(batch, pour(batch, libra::archetype::cost{}, p)) == "");
    }
  }
}

TEST_CASE("a cut is the last, or the first, multiple of the unit within room") {
  pool_batch batch{.shape = {4, 2, 64, {}}, .home = {4096, 1}, .slots = 1, .first_rank = 0, .segments = {}};
  batch.segments.push_back({{libra::document_id(0), 0, 4096}, libra::sequence_id(0), libra::slot_id(0), 0});
  libra::pair_count const cost;
  libra::detail::pool_work<libra::pair_count> const work(batch, cost, pass::forward);
  libra::detail::share const all{libra::segment_id(0), 0, 2, 0, 4096};
  std::int64_t const half = work.work_of(all) / 2;
  auto part = all;
  part.end = work.last_row_within(all, half);
  CHECK(part.end % work.unit_rows == 0);
  CHECK(work.work_of(part) <= half);
  part.end += work.unit_rows;
  CHECK(work.work_of(part) > half);
  part = all;
  part.begin = work.first_row_within(all, half);
  CHECK(part.begin % work.unit_rows == 0);
  CHECK(work.work_of(part) <= half);
  part.begin -= work.unit_rows;
  CHECK(work.work_of(part) > half);
}

TEST_CASE("work of other nodes is spread evenly, and own work stays at home") {
  // Ranks 2 and 3 hold two documents of their own and are given one of rank 0.
  pool_batch batch{.shape = {8, 1, 64, {}}, .home = {4096, 1}, .slots = 4, .first_rank = 0, .segments = {}};
  for (std::size_t s = 0; s < 4; ++s) {
    batch.segments.push_back({{libra::document_id(s), 0, 2048}, libra::sequence_id(s), libra::slot_id(s), 0});
  }
  libra::pair_count const cost;
  libra::detail::pool_work<libra::pair_count> const work(batch, cost, pass::forward);
  std::vector<libra::detail::share> shares;
  for (std::int32_t const s : {2, 3, 0}) {
    shares.push_back({libra::segment_id(s), 0, 8, 0, 2048});
  }
  std::vector<tile> tiles;
  libra::detail::pouring<libra::pair_count>(work, 2, 4, shares).run(tiles);
  std::int64_t foreign[2]{};
  for (tile const& t : tiles) {
    if (t.segment.value == 0) {
      foreign[t.rank.value - 2] += work.work_of({t.segment, t.head_begin, t.head_end, t.q_begin, t.q_end});
    } else {
      CHECK(t.rank.value == t.segment.value);
    }
  }
  CHECK(static_cast<double>(foreign[0]) == doctest::Approx(static_cast<double>(foreign[1])).epsilon(0.02));
}

TEST_CASE("heads of another node are computed one after another, each by all ranks") {
  pool_batch batch{.shape = {8, 2, 64, {}}, .home = {4096, 1}, .slots = 4, .first_rank = 0, .segments = {}};
  batch.segments.push_back({{libra::document_id(0), 0, 4096}, libra::sequence_id(0), libra::slot_id(0), 0});
  libra::pair_count const cost;
  libra::detail::pool_work<libra::pair_count> const work(batch, cost, pass::forward);
  std::vector<libra::detail::share> const shares{{libra::segment_id(0), 0, 4, 0, 4096},
                                                 {libra::segment_id(0), 4, 8, 0, 4096}};
  std::vector<tile> tiles;
  libra::detail::pouring<libra::pair_count>(work, 2, 4, shares).run(tiles);
  std::int64_t of[2][2]{};
  for (tile const& t : tiles) {
    of[t.rank.value - 2][t.head_begin / 4] += work.work_of({t.segment, t.head_begin, t.head_end, t.q_begin, t.q_end});
  }
  for (int const head : {0, 1}) {
    CHECK(static_cast<double>(of[0][head]) == doctest::Approx(static_cast<double>(of[1][head])).epsilon(0.02));
  }
}

TEST_CASE("no segments, no tiles") {
  pool_batch batch;
  batch.shape = {2, 1, 16, {}};
  batch.home = {10, 2};
  batch.slots = 2;
  CHECK(pour(batch, libra::pair_count{}, pass::forward).empty());
}

TEST_CASE("work that is finer than the shares is spread within a few percent of the mean") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    pool_batch const batch = libra::test::random_pool(seed, {.dp = 4, .cp = 3, .tokens = 4000});
    INFO("seed ", seed, ": ", libra::test::describe(batch));
    std::vector<int128> load(static_cast<std::size_t>(batch.ranks()));
    int128 total = 0;
    for (tile const& t : pour(batch, libra::pair_count{}, pass::forward)) {
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

TEST_CASE("every rank is filled up to the same time, and speeds that are all equal change nothing") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    pool_batch batch = libra::test::random_pool(seed, {.dp = 4, .cp = 3, .tokens = 4000});
    INFO("seed ", seed, ": ", libra::test::describe(batch));
    std::vector<tile> const equal = pour(batch, libra::pair_count{}, pass::forward);
    for (std::int32_t const speed : {1, 999, 1000, 2500}) {
      batch.speeds_permille.assign(static_cast<std::size_t>(batch.ranks()), speed);
      REQUIRE(pour(batch, libra::pair_count{}, pass::forward) == equal);
    }
    libra::random_bits bits(seed);
    for (std::int32_t& speed : batch.speeds_permille) {
      speed = static_cast<std::int32_t>(bits.between(300, 2000));
    }
    std::vector<tile> const tiles = pour(batch, libra::pair_count{}, pass::forward);
    REQUIRE(libra::test::coverage_error(batch, tiles) == "");
    std::vector<int128> load(static_cast<std::size_t>(batch.ranks()));
    int128 total = 0;
    for (tile const& t : tiles) {
      load[t.rank.index()] += libra::pair_count{}(batch.shape_of(t)).forward;
      total += libra::pair_count{}(batch.shape_of(t)).forward;
    }
    std::int64_t longest = 0;
    for (auto const& s : batch.segments) {
      longest = std::max(longest, s.what.length);
    }
    int128 const unit = 2 * 16 * longest;
    int128 const mean = libra::at_speed(total, batch.speed_of(0, batch.ranks()));
    for (std::size_t r = 0; r < load.size(); ++r) {
      std::int32_t const speed = batch.speed_of(libra::rank_id(r));
      REQUIRE(load[r] * 1000 <= (mean + std::max(unit * 4, mean / 50)) * speed);
    }
  }
}

TEST_CASE("a rank at half speed computes half as much, of its own work") {
  pool_batch batch{.shape = {8, 1, 64, {}}, .home = {4096, 1}, .slots = 4, .first_rank = 0, .segments = {}};
  for (std::size_t s = 0; s < 4; ++s) {
    batch.segments.push_back({{libra::document_id(s), 0, 4096}, libra::sequence_id(s), libra::slot_id(s), 0});
  }
  batch.speeds_permille = {1000, 500, 1000, 1000};
  libra::pair_count const cost;
  std::vector<double> load(4);
  for (tile const& t : pour(batch, cost, pass::forward)) {
    load[t.rank.index()] += static_cast<double>(cost(batch.shape_of(t)).forward);
    CHECK((t.rank.value != 1 || t.segment.value == 1));
  }
  CHECK(load[1] == doctest::Approx(load[0] / 2).epsilon(0.01));
  CHECK(load[2] == doctest::Approx(load[0]).epsilon(0.01));
}

}  // namespace
