#include "support/placing.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/place/longest_first.hpp>
#include <libra/place/variance_reduced.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using libra::int128;
using libra::placement;
using libra::variance_reduced;
using libra::test::placing;

static_assert(std::is_trivially_copyable_v<variance_reduced>);

int128 achieved(placing const& p, placement const& placed) {
  return libra::test::makespan(p, placed.at, libra::test::common_scale(p));
}

TEST_CASE("by hand: the outliers share a step, so that the other step is light") {
  placing p;
  p.layout = {.window_tokens = 10, .dp = 4, .cp = 1, .pool = 2, .micro_steps = 2};
  p.pools = libra::pool_partition{{0, 2, 4}};
  p.work = {100, 1, 1, 1, 100, 1, 1, 1};
  // 101 + 2 over two slots each; apart they would cost 101 + 101.
  CHECK(achieved(p, variance_reduced{}(p.work, p.layout, p.pools)) == (101 + 2) * 2);
}

TEST_CASE("permutes each global batch, and refining never makes it worse") {
  libra::random_bits bits(15);
  for (int i = 0; i < 1000; ++i) {
    placing const p = libra::test::random_placing(bits, 9, 4);
    INFO("case ", i, ": ", p.describe());
    placement const levelled = variance_reduced{.refine_pairs = 0}(p.work, p.layout, p.pools);
    placement const refined = variance_reduced{}(p.work, p.layout, p.pools);
    REQUIRE(libra::test::is_permutation_of_batches(p, levelled.at));
    REQUIRE(libra::test::is_permutation_of_batches(p, refined.at));
    REQUIRE(achieved(p, refined) <= achieved(p, levelled));
    REQUIRE(refined.dp == p.layout.dp);
    REQUIRE(refined.micro_steps == p.layout.micro_steps);
  }
}

TEST_CASE("within a few percent of the best placement of small batches, on average") {
  libra::random_bits bits(16);
  int128 best = 0;
  int128 found = 0;
  int optimal = 0;
  constexpr int cases = 60;
  for (int i = 0; i < cases; ++i) {
    placing p;
    p.layout = {.window_tokens = 10, .dp = 4, .cp = 1, .pool = 2, .micro_steps = 2};
    p.pools = libra::pool_partition{{0, 2, 4}};
    for (int s = 0; s < 8; ++s) {
      p.work.push_back(bits.between(1, 100));
    }
    int128 const least = libra::test::least_makespan(p, 0, 4);
    int128 const got = libra::test::makespan(p, variance_reduced{}(p.work, p.layout, p.pools).at, 4);
    REQUIRE(got >= least);
    best += least;
    found += got;
    optimal += got == least ? 1 : 0;
  }
  CHECK(found * 100 <= best * 103);
  CHECK(optimal * 3 >= cases);
}

TEST_CASE("better than longest first, and than no placement, where outliers are rare") {
  libra::random_bits bits(17);
  int128 packed = 0;
  int128 longest = 0;
  int128 reduced = 0;
  for (int i = 0; i < 20; ++i) {
    placing p;
    p.layout = {.window_tokens = 10, .dp = 32, .cp = 1, .pool = 8, .micro_steps = 4};
    p.pools = libra::fixed_size{}(p.layout, {});
    for (int s = 0; s < 128; ++s) {
      p.work.push_back(bits.below(20) == 0 ? bits.between(200, 1000) : bits.between(20, 40));
    }
    packed += achieved(p, libra::as_packed{}(p.work, p.layout, p.pools));
    longest += achieved(p, libra::longest_first{}(p.work, p.layout, p.pools));
    reduced += achieved(p, variance_reduced{}(p.work, p.layout, p.pools));
  }
  CHECK(reduced < longest);
  CHECK(longest < packed);
}

TEST_CASE("weights beyond 64 bits") {
  placing p;
  p.layout = {.window_tokens = 10, .dp = 4, .cp = 1, .pool = 2, .micro_steps = 2};
  p.pools = libra::pool_partition{{0, 2, 4}};
  int128 const unit = static_cast<int128>(1) << 80;
  for (int const w : {100, 1, 1, 1, 100, 1, 1, 1}) {
    p.work.push_back(w * unit);
  }
  CHECK(achieved(p, variance_reduced{}(p.work, p.layout, p.pools)) == (101 + 2) * 2 * unit);
}

}  // namespace
