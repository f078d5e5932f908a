#include "support/placing.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/place/threshold_refiner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using libra::int128;
using libra::sequence_id;
using libra::test::placing;
template <template <class> class Levels>
using refiner = libra::threshold_refiner<Levels>;

std::vector<sequence_id> first_batch(placing const& p) {
  std::vector<sequence_id> at;
  for (std::int64_t s = 0; s < p.layout.sequences_per_batch(); ++s) {
    at.emplace_back(static_cast<std::size_t>(s));
  }
  return at;
}

TEST_CASE("by hand: one exchange levels two pools") {
  placing p;
  p.layout = {.window_tokens = 10, .dp = 4, .cp = 1, .pool = 2, .micro_steps = 1};
  p.pools = libra::pool_partition{{0, 2, 4}};
  p.work = {9, 8, 2, 1};
  std::vector<sequence_id> at = first_batch(p);
  refiner<libra::layer_levels>(p.work, p.pools, 1).refine(at, 100);
  CHECK(libra::test::makespan(p, at, 2) == 10);
}

TEST_CASE("by hand: goes through worse placements where no single exchange helps") {
  // 8 + 7 + 1 against 6 + 5 + 4 + ... : from 16 and 14 the best, 15 and 15, takes two exchanges at once.
  placing p;
  p.layout = {.window_tokens = 10, .dp = 6, .cp = 1, .pool = 3, .micro_steps = 1};
  p.pools = libra::pool_partition{{0, 3, 6}};
  p.work = {10, 10, 2, 9, 6, 5};  // 22 and 20; swaps shift 1, 4, 5, 8 and more: 21 needs a 1 only
  std::vector<sequence_id> at = first_batch(p);
  refiner<libra::layer_levels>(p.work, p.pools, 1).refine(at, 1000);
  CHECK(libra::test::makespan(p, at, 3) == 21);
}

template <template <class> class Levels>
void check_never_worse(placing const& p, std::int32_t stages, libra::random_bits& bits) {
  std::vector<sequence_id> at = first_batch(p);
  libra::shuffle(std::span(at), bits);
  refiner<Levels> search(p.work, p.pools, static_cast<std::size_t>(p.layout.micro_steps), stages);
  int128 const before = search.cost_of(at);
  std::vector<sequence_id> again = at;
  search.refine(at, 500);
  REQUIRE(search.cost_of(at) <= before);
  refiner<Levels>(p.work, p.pools, static_cast<std::size_t>(p.layout.micro_steps), stages).refine(again, 500);
  REQUIRE(at == again);
  std::ranges::sort(at);
  REQUIRE(at == first_batch(p));
}

TEST_CASE("never worse, always a permutation, the same every time") {
  libra::random_bits bits(12);
  for (int i = 0; i < 1000; ++i) {
    placing p = libra::test::random_placing(bits, 8, 3);
    if (i % 5 == 0) {
      for (int128& w : p.work) {
        w = (w << 70) + 12345;  // beyond 64 bits, so that the search drops bits
      }
    }
    INFO("case ", i, ": ", p.describe());
    auto const stages = static_cast<std::int32_t>(bits.between(1, 3));
    check_never_worse<libra::layer_levels>(p, stages, bits);
    check_never_worse<libra::batch_levels>(p, stages, bits);
  }
}

TEST_CASE("the cost is the makespan in layers, and the largest pool's sum in batches") {
  libra::random_bits bits(13);
  for (int i = 0; i < 300; ++i) {
    placing p = libra::test::random_placing(bits, 6, 3);
    p.layout.pool = p.layout.dp / (p.layout.dp / p.layout.pool);
    std::vector<sequence_id> const at = first_batch(p);
    auto const steps = static_cast<std::size_t>(p.layout.micro_steps);
    int128 const scale = libra::test::common_scale(p);
    int128 const cost = refiner<libra::layer_levels>(p.work, p.pools, steps).cost_of(at);
    int128 const makespan = libra::test::makespan(p, at, scale);
    INFO("case ", i, ": ", p.describe());
    // Both are work per slot, over different multiples of the sizes.
    int128 const unit = int128{p.pools.largest()} * p.pools.slots(libra::pool_id(p.pools.size() - 1));
    REQUIRE(makespan * unit == cost * scale);
    REQUIRE(refiner<libra::batch_levels>(p.work, p.pools, steps).cost_of(at) <= cost);
  }
}

TEST_CASE("no moves change nothing, more are not worse") {
  libra::random_bits bits(14);
  placing p;
  p.layout = {.window_tokens = 10, .dp = 16, .cp = 1, .pool = 4, .micro_steps = 2};
  p.pools = libra::pool_partition{{0, 4, 8, 12, 16}};
  for (int s = 0; s < 32; ++s) {
    p.work.push_back(bits.between(1, 1000));
  }
  std::vector<sequence_id> none = first_batch(p);
  std::vector<sequence_id> some = none;
  std::vector<sequence_id> many = none;
  refiner<libra::layer_levels>(p.work, p.pools, 2).refine(none, 0);
  CHECK(none == first_batch(p));
  refiner<libra::layer_levels>(p.work, p.pools, 2).refine(some, 300);
  refiner<libra::layer_levels>(p.work, p.pools, 2).refine(many, 100'000);
  CHECK(libra::test::makespan(p, many, 4) < libra::test::makespan(p, some, 4));
  CHECK(libra::test::makespan(p, some, 4) < libra::test::makespan(p, none, 4));
}

}  // namespace
