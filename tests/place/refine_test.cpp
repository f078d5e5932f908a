#include "support/placing.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/place/refine.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace {

using libra::exchange_refiner;
using libra::int128;
using libra::sequence_id;
using libra::test::placing;

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
  exchange_refiner(p.work, p.pools, 1).refine(at, 1000);
  CHECK(libra::test::makespan(p, at, 2) == 10);
}

TEST_CASE("never worse, always a permutation, and no single exchange is left that helps") {
  libra::random_bits bits(12);
  for (int i = 0; i < 1000; ++i) {
    placing const p = libra::test::random_placing(bits, 8, 3);
    INFO("case ", i, ": ", p.describe());
    int128 const scale = libra::test::common_scale(p);
    std::vector<sequence_id> at = first_batch(p);
    libra::shuffle(std::span(at), bits);
    int128 const before = libra::test::makespan(p, at, scale);
    exchange_refiner refiner(p.work, p.pools, static_cast<std::size_t>(p.layout.micro_steps));
    refiner.refine(at, 1'000'000'000);
    int128 const after = libra::test::makespan(p, at, scale);
    REQUIRE(after <= before);
    std::vector<sequence_id> sorted = at;
    std::ranges::sort(sorted);
    REQUIRE(sorted == first_batch(p));
    for (std::size_t a = 0; a < at.size(); ++a) {
      for (std::size_t b = a + 1; b < at.size(); ++b) {
        std::swap(at[a], at[b]);
        int128 const exchanged = libra::test::makespan(p, at, scale);
        std::swap(at[a], at[b]);
        REQUIRE(exchanged >= after);
      }
    }
  }
}

TEST_CASE("a budget of nothing changes nothing") {
  libra::random_bits bits(13);
  placing const p = libra::test::random_placing(bits, 8, 3);
  std::vector<sequence_id> at = first_batch(p);
  CHECK(exchange_refiner(p.work, p.pools, static_cast<std::size_t>(p.layout.micro_steps)).refine(at, 0) == 0);
  CHECK(at == first_batch(p));
}

TEST_CASE("a small budget stops early, and the budget alone decides where") {
  placing p;
  p.layout = {.window_tokens = 10, .dp = 16, .cp = 1, .pool = 4, .micro_steps = 2};
  p.pools = libra::pool_partition{{0, 4, 8, 12, 16}};
  libra::random_bits bits(14);
  for (int s = 0; s < 32; ++s) {
    p.work.push_back(bits.between(1, 1000));
  }
  std::vector<sequence_id> once = first_batch(p);
  std::vector<sequence_id> again = once;
  std::vector<sequence_id> longer = once;
  std::int64_t const weighed = exchange_refiner(p.work, p.pools, 2).refine(once, 300);
  CHECK(exchange_refiner(p.work, p.pools, 2).refine(again, 300) == weighed);
  CHECK(once == again);
  CHECK(weighed >= 300);
  CHECK(weighed < 300 + 2 * 16 * 28);  // one sweep more at most
  exchange_refiner(p.work, p.pools, 2).refine(longer, 1'000'000);
  CHECK(libra::test::makespan(p, longer, 4) < libra::test::makespan(p, once, 4));
}

}  // namespace
