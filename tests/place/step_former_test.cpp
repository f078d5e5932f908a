#include "support/placing.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/place/step_former.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::int128;
using libra::sequence_id;
using libra::step_former;
using libra::test::placing;

std::vector<sequence_id> formed(placing const& p, std::int32_t stages = 1) {
  std::vector<sequence_id> at;
  for (std::int64_t s = 0; s < p.layout.sequences_per_batch(); ++s) {
    at.emplace_back(static_cast<std::size_t>(s));
  }
  step_former(p.work, p.layout, p.pools).place(at, stages);
  return at;
}

TEST_CASE("by hand: the outliers share a step, with the lightest company") {
  placing p;
  p.layout = {.window_tokens = 10, .dp = 4, .cp = 1, .pool = 2, .micro_steps = 2};
  p.pools = libra::pool_partition{{0, 2, 4}};
  p.work = {100, 9, 1, 8, 99, 9, 2, 8};
  // 100 + 1 and 99 + 2; then 9 + 8 twice.
  CHECK(libra::test::makespan(p, formed(p), 2) == 101 + 17);
}

TEST_CASE("through many stages a heavy step costs more than once: even steps are cheaper") {
  placing p;
  p.layout = {.window_tokens = 10, .dp = 2, .cp = 1, .pool = 2, .micro_steps = 2};
  p.pools = libra::pool_partition{{0, 2}};
  p.work = {10, 10, 4, 4};
  std::vector<sequence_id> const at = formed(p, 9);
  int128 const first = p.work[at[0].index()] + p.work[at[1].index()];
  CHECK(first == 14);
}

TEST_CASE("always a permutation, with pools in any order of sizes") {
  libra::random_bits bits(68);
  for (int i = 0; i < 500; ++i) {
    placing p = libra::test::random_placing(bits, 10, 4);
    p.work.resize(static_cast<std::size_t>(p.layout.sequences_per_batch()));
    for (std::size_t g = 1; g + 1 < p.pools.begin.size(); ++g) {
      // The smaller pools first.
      p.pools.begin[g] = p.layout.dp - p.pools.begin[p.pools.begin.size() - 1 - g];
    }
    INFO("case ", i, ": ", p.describe());
    REQUIRE(libra::test::is_permutation_of_batches(p, formed(p, static_cast<std::int32_t>(bits.between(1, 4)))));
  }
}

}  // namespace
