#include "support/placing.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/place/longest_first.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using libra::int128;
using libra::longest_first;
using libra::placement;
using libra::sequence_id;

static_assert(std::is_trivially_copyable_v<longest_first>);

/// Longest first over all pools of a global batch, then equal-sized pools sorted by weight over the steps, naively.
std::vector<sequence_id> naive(libra::test::placing const& p, std::size_t batch) {
  struct group {
    std::size_t slots{};
    std::vector<sequence_id> sequences;
    int128 load{};
  };
  auto const per_batch = static_cast<std::size_t>(p.layout.sequences_per_batch());
  std::vector<group> groups;
  for (std::int32_t m = 0; m < p.layout.micro_steps; ++m) {
    for (std::int32_t g = 0; g < p.pools.size(); ++g) {
      groups.push_back({static_cast<std::size_t>(p.pools.slots(libra::pool_id(g))), {}, 0});
    }
  }
  std::vector<bool> taken(per_batch);
  for (std::size_t n = 0; n < per_batch; ++n) {
    std::size_t heaviest = per_batch;
    for (std::size_t s = 0; s < per_batch; ++s) {
      if (!taken[s] &&
          (heaviest == per_batch || p.work[batch * per_batch + s] > p.work[batch * per_batch + heaviest])) {
        heaviest = s;
      }
    }
    taken[heaviest] = true;
    group* lightest = nullptr;
    for (group& g : groups) {
      bool const free = g.sequences.size() < g.slots;
      if (free && (lightest == nullptr || g.load * static_cast<std::int64_t>(lightest->slots) <
                                              lightest->load * static_cast<std::int64_t>(g.slots))) {
        lightest = &g;
      }
    }
    lightest->sequences.emplace_back(batch * per_batch + heaviest);
    lightest->load += p.work[batch * per_batch + heaviest];
  }
  std::vector<sequence_id> at;
  for (std::int32_t m = 0; m < p.layout.micro_steps; ++m) {
    for (std::int32_t g = 0; g < p.pools.size(); ++g) {
      group* heaviest = nullptr;
      for (group& candidate : groups) {
        bool const fits = candidate.slots == static_cast<std::size_t>(p.pools.slots(libra::pool_id(g)));
        if (fits && !candidate.sequences.empty() && (heaviest == nullptr || candidate.load > heaviest->load)) {
          heaviest = &candidate;
        }
      }
      at.insert(at.end(), heaviest->sequences.begin(), heaviest->sequences.end());
      heaviest->sequences.clear();
    }
  }
  return at;
}

TEST_CASE("by hand: pools are filled longest first, and like pools share a step") {
  libra::test::placing p;
  p.layout = {.window_tokens = 10, .dp = 2, .cp = 1, .pool = 1, .micro_steps = 2};
  p.pools = libra::pool_partition{{0, 1, 2}};
  p.work = {1, 9, 2, 8};
  placement const placed = longest_first{}(p.work, p.layout, p.pools);
  CHECK(placed.at == std::vector<sequence_id>{sequence_id(1), sequence_id(3), sequence_id(2), sequence_id(0)});
}

TEST_CASE("agrees with the naive algorithm, ties and unequal pools included") {
  libra::random_bits bits(11);
  for (int i = 0; i < 1500; ++i) {
    auto const p = libra::test::random_placing(bits, 9, 4);
    INFO("case ", i, ": ", p.describe());
    placement const placed = longest_first{}(p.work, p.layout, p.pools);
    REQUIRE(libra::test::is_permutation_of_batches(p, placed.at));
    auto const per_batch = static_cast<std::size_t>(p.layout.sequences_per_batch());
    for (std::size_t b = 0; b < placed.at.size() / per_batch; ++b) {
      std::vector<sequence_id> const expected = naive(p, b);
      REQUIRE(std::ranges::equal(std::span(placed.at).subspan(b * per_batch, per_batch), expected));
    }
  }
}

TEST_CASE("less than one global batch is refused") {
  std::vector<int128> const work{1, 2, 3};
  CHECK_THROWS_AS(static_cast<void>(longest_first{}(work, {.dp = 2, .cp = 1, .pool = 2, .micro_steps = 2},
                                                    libra::pool_partition{{0, 2}})),
                  libra::input_error);
}

}  // namespace
