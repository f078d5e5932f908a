#include "support/hand_pool.hpp"
#include "support/placing.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/place/as_packed.hpp>
#include <libra/place/variance_reduced.hpp>
#include <libra/plan/certify.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::int128;
using libra::placement_certificate;
using libra::pool_certificate;
using libra::sequence_id;
using libra::test::placing;

placing two_pools_of_two(std::vector<int128> work, std::int32_t micro_steps) {
  return {.layout = {.window_tokens = 10, .dp = 4, .cp = 1, .pool = 2, .micro_steps = micro_steps},
          .pools = libra::pool_partition{{0, 2, 4}},
          .work = std::move(work)};
}

placement_certificate certify_as_packed(placing const& p) {
  return certify(p.work, p.layout, p.pools, libra::as_packed{}(p.work, p.layout, p.pools));
}

TEST_CASE("by hand: one step of two pools") {
  placement_certificate const proof = certify_as_packed(two_pools_of_two({6, 2, 3, 1}, 1));
  CHECK(proof.scale == 8);
  CHECK(proof.mean == 3 * 8);         // 12 over 4 slots
  CHECK(proof.packed == 6 * 8);       // the slot that holds 6
  CHECK(proof.makespan == 4 * 8);     // 6 + 2 over 2 slots
  CHECK(proof.lower_bound == 7 * 4);  // 6 + 1 over 2 slots
  CHECK(proof.ulysses_over_mean() == 2.0);
  CHECK(proof.placed_over_mean() == doctest::Approx(4.0 / 3));
  CHECK(proof.lower_bound_over_mean() == doctest::Approx(3.5 / 3));
}

TEST_CASE("by hand: an outlier makes the bound, and it can be met") {
  // Two steps: 100 and 0 over two slots, with 1 and 1 beside them; what is left, 2 in all, over four.
  placing const p = two_pools_of_two({100, 1, 1, 1, 1, 0, 0, 0}, 2);
  placement_certificate const packed = certify_as_packed(p);
  CHECK(packed.lower_bound == 8 * 50 + 8 * (104 - 102) / 4);
  CHECK(packed.packed == 8 * (100 + 1));
  placement_certificate const placed =
      certify(p.work, p.layout, p.pools, libra::variance_reduced{}(p.work, p.layout, p.pools));
  CHECK(placed.lower_bound == packed.lower_bound);
  CHECK(placed.makespan >= placed.lower_bound);
  CHECK(placed.makespan <= 8 * 51);
}

TEST_CASE("by hand: one step of an outlier waits for it and the lightest company") {
  CHECK(certify_as_packed(two_pools_of_two({100, 7, 5, 6}, 1)).lower_bound == 8 * 105 / 2);
  // A pool of two or of three, whichever is cheaper: 100 + 5 over two, or 100 + 5 + 6 over three.
  placing const p{.layout = {.window_tokens = 10, .dp = 5, .cp = 1, .pool = 3, .micro_steps = 1},
                  .pools = libra::pool_partition{{0, 3, 5}},
                  .work = {100, 7, 5, 6, 8}};
  CHECK(certify_as_packed(p).lower_bound == 30 * 111 / 3);
}

TEST_CASE("equal weights: the bound, the mean and the makespan are one") {
  placement_certificate const proof = certify_as_packed(two_pools_of_two(std::vector<int128>(16, 7), 2));
  CHECK(proof.mean == proof.makespan);
  CHECK(proof.lower_bound == proof.makespan);
  CHECK(proof.packed == proof.makespan);
  CHECK(proof.placed_over_mean() == 1.0);
}

TEST_CASE("unequal pools are compared per slot, exactly") {
  placing const p{.layout = {.window_tokens = 10, .dp = 5, .cp = 1, .pool = 3, .micro_steps = 1},
                  .pools = libra::pool_partition{{0, 3, 5}},
                  .work = {5, 5, 6, 5, 6}};
  placement_certificate const proof = certify_as_packed(p);
  CHECK(proof.scale == 30);
  CHECK(proof.makespan == 11 * 15);  // 11 over 2 slots beats 16 over 3
  CHECK(proof.mean == 27 * 6);
  CHECK(proof.packed == 6 * 30);
}

TEST_CASE("the bound adds up over global batches, and an unfilled one does not count") {
  placing const one = two_pools_of_two({9, 1, 1, 1}, 1);
  placing const other = two_pools_of_two({2, 2, 3, 2}, 1);
  placing const both = two_pools_of_two({9, 1, 1, 1, 2, 2, 3, 2, 1000, 1000, 1000}, 1);
  placement_certificate const a = certify_as_packed(one);
  placement_certificate const b = certify_as_packed(other);
  placement_certificate const sum = certify_as_packed(both);
  CHECK(sum.mean == a.mean + b.mean);
  CHECK(sum.packed == a.packed + b.packed);
  CHECK(sum.makespan == a.makespan + b.makespan);
  CHECK(sum.lower_bound == a.lower_bound + b.lower_bound);
}

TEST_CASE("no placement of a small batch beats the bound, and the bound is often met") {
  libra::random_bits bits(41);
  int met = 0;
  for (int i = 0; i < 150; ++i) {
    placing p;
    do {
      p = libra::test::random_placing(bits, 4, 3);
    } while (p.layout.sequences_per_batch() > 7);
    INFO("case ", i, ": ", p.describe());
    placement_certificate const proof = certify_as_packed(p);
    int128 least = 0;
    for (std::int32_t b = 0; b < static_cast<std::int32_t>(p.work.size()) / p.layout.sequences_per_batch(); ++b) {
      least += libra::test::least_makespan(p, static_cast<std::size_t>(b), proof.scale);
    }
    REQUIRE(proof.lower_bound <= least);
    REQUIRE(least <= proof.makespan);
    met += proof.lower_bound == least ? 1 : 0;
  }
  CHECK(met > 30);
}

TEST_CASE("a hundred thousand sequences of a million tokens, 64 heads of 128, in picoseconds") {
  libra::roofline const cost;
  libra::work const head = cost({0, 1 << 20, 1 << 20, 8, 128, libra::attention_mask::full()});
  int128 const weight = scaled(head, 8).total();
  placing p{.layout = {.window_tokens = 1 << 20, .dp = 64, .cp = 8, .pool = 8, .micro_steps = 4},
            .pools = libra::fixed_size{}({.dp = 64, .pool = 8}, {}),
            .work = std::vector<int128>(100'000, weight)};
  placement_certificate const proof = certify_as_packed(p);
  int128 const steps = 100'000 / 256 * 4;
  CHECK(proof.makespan == steps * weight * proof.scale);
  CHECK(proof.lower_bound == proof.makespan);
  CHECK_FALSE(libra::fits_int64(proof.makespan));
}

TEST_CASE("weights whose sums exceed 128 bits are an error, not a wrap") {
  placing const p = two_pools_of_two({libra::int128_max / 9, 1, 1, 1}, 1);
  CHECK_NOTHROW(certify_as_packed(p));
  placing const beyond = two_pools_of_two({libra::int128_max / 7, 1, 1, 1}, 1);
  CHECK_THROWS_AS(static_cast<void>(certify_as_packed(beyond)), libra::range_error);
  placing const sums = two_pools_of_two({libra::int128_max / 2, libra::int128_max / 2, 2, 1}, 1);
  CHECK_THROWS_AS(static_cast<void>(certify_as_packed(sums)), libra::range_error);
}

TEST_CASE("by hand: the certificate of a dispatch") {
  libra::pool_batch const batch = libra::test::hand_pool();
  std::vector<libra::tile> const tiles = libra::test::hand_tiles();
  pool_certificate const proof = certify(batch, libra::pool_dispatch{tiles, tiles, 4, 0}, libra::pair_count{});
  // Pairs of one head: segment 0 has 32896, 1 has 5050, 2 has 1830; rows [0, 128) of segment 0 have 8256, [128, 192)
  // 10272, [192, 256) 14368.
  CHECK(proof.total.forward == 2 * 4 * (32896 + 5050 + 1830));
  CHECK(proof.total.backward == 5 * 4 * (32896 + 5050 + 1830));
  CHECK(proof.makespan.forward == 2 * 4 * 14368);
  CHECK(proof.makespan.backward == 5 * 4 * 14368);
  CHECK(proof.lower_bound.forward == (2 * 4 * (32896 + 5050 + 1830) + 3) / 4);
  CHECK(proof.gap() == doctest::Approx(14368.0 / ((32896 + 5050 + 1830) / 4.0) - 1));
}

TEST_CASE("the bound of a dispatch is of uncut work: cutting raises the total, not the bound") {
  libra::pool_batch const batch = libra::test::hand_pool();
  std::vector<libra::tile> const tiles = libra::test::hand_tiles();
  libra::roofline const cost;
  pool_certificate const proof = certify(batch, libra::pool_dispatch{tiles, tiles, 4, 0}, cost);
  int128 whole = 0;
  for (libra::placed_segment const& s : batch.segments) {
    whole += 2 * int128{cost({0, s.what.length, s.what.length, 2, 16, batch.shape.mask}).forward};
  }
  CHECK(proof.lower_bound.forward == libra::ceil_div(whole, 4));
  CHECK(proof.total.forward >= whole);
}

TEST_CASE("by hand: ranks of unequal speed take longer or shorter for their work") {
  libra::pool_batch batch = libra::test::hand_pool();
  std::vector<libra::tile> const tiles = libra::test::hand_tiles();
  libra::pool_dispatch const dispatch{tiles, tiles, 4, 0};
  pool_certificate const equal = certify(batch, dispatch, libra::pair_count{});
  std::vector<int128> work(4);
  for (libra::tile const& t : tiles) {
    work[t.rank.index()] += libra::pair_count{}(batch.shape_of(t)).forward;
  }
  for (std::size_t slow = 0; slow < 4; ++slow) {
    batch.speeds_permille.assign(4, 1000);
    batch.speeds_permille[slow] = 400;
    pool_certificate const proof = certify(batch, dispatch, libra::pair_count{});
    CHECK(proof.makespan.forward == std::max(equal.makespan.forward, (work[slow] * 5 + 1) / 2));
    CHECK(proof.total == equal.total);
    CHECK(proof.lower_bound.forward == libra::ceil_div(int128{2} * 4 * (32896 + 5050 + 1830) * 10, 34));
  }
}

}  // namespace
