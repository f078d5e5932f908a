#include "support/placing.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/place/karmarkar_karp.hpp>
#include <libra/place/longest_first.hpp>
#include <libra/place/snake.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using libra::int128;
using libra::karmarkar_karp;
using libra::placement;
using libra::test::placing;

static_assert(std::is_trivially_copyable_v<karmarkar_karp>);

placing two_pools(std::int32_t slots, std::vector<int128> work) {
  return {.layout = {.window_tokens = 10, .dp = 2 * slots, .cp = 1, .pool = slots, .micro_steps = 1},
          .pools = libra::pool_partition{{0, slots, 2 * slots}},
          .work = std::move(work)};
}

int128 achieved(placing const& p, placement const& placed) {
  return libra::test::makespan(p, placed.at, libra::test::common_scale(p));
}

TEST_CASE("by hand: differences cancel where longest first is stuck") {
  placing const p = two_pools(3, {8, 7, 6, 5, 4, 1});
  placement const placed = karmarkar_karp{}(p.work, p.layout, p.pools);
  // The rounds that differ most, 4 1 and 8 7, join to 9 and 11; with 6 5 they make 15 and 16.
  CHECK(achieved(p, placed) == 16 * 2);
}

TEST_CASE("one micro-step of equal pools is close to even, closer than longest first and than a snake") {
  libra::random_bits bits(61);
  int128 longest = 0;
  int128 dealt = 0;
  int128 differenced = 0;
  for (int i = 0; i < 50; ++i) {
    std::vector<int128> work;
    for (int s = 0; s < 32; ++s) {
      work.push_back(bits.between(1, 100'000));
    }
    placing const p = two_pools(16, work);
    longest += achieved(p, libra::longest_first{}(p.work, p.layout, p.pools));
    dealt += achieved(p, libra::snake{}(p.work, p.layout, p.pools));
    differenced += achieved(p, karmarkar_karp{}(p.work, p.layout, p.pools));
  }
  CHECK(differenced < longest);
  CHECK(longest < dealt);
}

TEST_CASE("two pools: at most the largest difference within a round apart") {
  libra::random_bits bits(62);
  for (int i = 0; i < 500; ++i) {
    std::vector<int128> work;
    std::int64_t const slots = bits.between(1, 8);
    for (std::int64_t s = 0; s < 2 * slots; ++s) {
      work.push_back(libra::test::random_weight(bits, bits.below(5)));
    }
    placing const p = two_pools(static_cast<std::int32_t>(slots), work);
    placement const placed = karmarkar_karp{}(p.work, p.layout, p.pools);
    int128 loads[2]{};
    for (std::size_t s = 0; s < placed.at.size(); ++s) {
      loads[s / static_cast<std::size_t>(slots)] += p.work[placed.at[s].index()];
    }
    std::ranges::sort(work, std::ranges::greater{});
    int128 widest = 0;
    for (std::size_t s = 0; s < work.size(); s += 2) {
      widest = std::max(widest, work[s] - work[s + 1]);
    }
    INFO("case ", i, ": ", p.describe());
    REQUIRE((loads[0] > loads[1] ? loads[0] - loads[1] : loads[1] - loads[0]) <= widest);
  }
}

TEST_CASE("pools of unequal size are filled exactly") {
  libra::random_bits bits(63);
  for (int i = 0; i < 500; ++i) {
    placing const p = libra::test::random_placing(bits, 11, 3);
    INFO("case ", i, ": ", p.describe());
    REQUIRE(libra::test::is_permutation_of_batches(p, karmarkar_karp{}(p.work, p.layout, p.pools).at));
  }
}

}  // namespace
