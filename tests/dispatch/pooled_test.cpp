#include "support/coverage.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/dispatch/ulysses.hpp>
#include <libra/plan/certify.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using libra::document_id;
using libra::int128;
using libra::pair_count;
using libra::pool_batch;
using libra::pool_dispatch;
using libra::pooled;
using libra::sequence_id;
using libra::slot_id;
using libra::tile;

static_assert(std::is_trivially_copyable_v<pooled>);

pool_dispatch dispatch(pool_batch const& batch) { return pooled{}(batch, pair_count{}, libra::topology{}); }

/// Slots of one document each, over groups of `cp` ranks.
pool_batch documents(std::vector<std::int64_t> const& lengths, std::int64_t window, std::int32_t cp) {
  pool_batch batch{.shape = {8, 2, 64, {}},
                   .home = {window, cp},
                   .slots = static_cast<std::int32_t>(lengths.size()),
                   .first_rank = 0,
                   .segments = {}};
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    batch.segments.push_back({{document_id(s), 0, lengths[s]}, sequence_id(s), slot_id(s), 0});
  }
  return batch;
}

TEST_CASE("covers every row and head once in both passes") {
  for (std::uint64_t seed = 1000; seed < 1200; ++seed) {
    pool_batch const batch = libra::test::random_pool(seed, {.tokens = 2500});
    INFO("seed ", seed, ": ", libra::test::describe(batch));
    pool_dispatch const d = pooled{}(batch, libra::roofline{}, libra::topology{});
    REQUIRE(libra::test::coverage_error(batch, d.forward) == "");
    REQUIRE(libra::test::coverage_error(batch, d.backward) == "");
    REQUIRE(d.ranks_per_exchange <= batch.ranks());
    REQUIRE(d.idle_ranks == 0);
  }
}

TEST_CASE("equal documents, each inside its home, are computed where they are") {
  pool_batch const batch = documents({512, 512, 512, 512}, 512, 1);
  for (tile const& t : dispatch(batch).forward) {
    CHECK(t.rank.value == t.segment.value);
  }
}

TEST_CASE("one long document is shared by the whole pool, within two percent of the mean") {
  pool_batch const batch = documents({8192, 512, 512, 512}, 8192, 1);
  libra::pool_certificate const proof = certify(batch, dispatch(batch), pair_count{});
  CHECK(proof.makespan.forward * 100 <= proof.lower_bound.forward * 102);
  CHECK(proof.makespan.backward * 100 <= proof.lower_bound.backward * 102);
  libra::pool_certificate const heads =
      certify(batch, libra::ulysses{}(batch, pair_count{}, libra::topology{}), pair_count{});
  CHECK(heads.makespan.forward > 3 * proof.makespan.forward);
}

TEST_CASE("the same batch is always dispatched alike") {
  pool_batch const batch = documents({4096, 100, 3000, 512}, 4096, 2);
  CHECK(dispatch(batch) == dispatch(batch));
}

TEST_CASE("with one rank at half speed the pool takes its work over the sum of speeds") {
  pool_batch batch = documents({8192, 4096, 4096, 512}, 8192, 2);
  batch.speeds_permille.assign(8, 1000);
  CHECK(dispatch(batch) == dispatch(documents({8192, 4096, 4096, 512}, 8192, 2)));
  batch.speeds_permille[5] = 500;
  libra::pool_certificate const proof = certify(batch, dispatch(batch), pair_count{});
  CHECK(proof.makespan.forward * 100 <= proof.lower_bound.forward * 102);
  CHECK(proof.makespan.backward * 100 <= proof.lower_bound.backward * 102);
  batch.speeds_permille.clear();
  int128 const equal = certify(batch, dispatch(batch), pair_count{}).lower_bound.forward;
  CHECK(proof.lower_bound.forward == libra::ceil_div(equal * 80, 75));
}

TEST_CASE("a node that is done long before others moves nothing between its ranks") {
  // Nodes of two ranks. Rank 0 holds a long document that may not leave its node, rank 2 a short one, rank 3 none.
  pool_batch const batch = documents({8192, 1024}, 16384, 2);
  libra::topology const links{.ranks_per_node = 2};
  pool_dispatch const d = pooled{}.exporting_at_most(0)(batch, pair_count{}, links);
  bool shared = false;
  for (tile const& t : d.forward) {
    shared = shared || t.rank.value == 1;
    CHECK((t.segment.value == 0 || t.rank.value == 2));
  }
  CHECK(shared);
}

TEST_CASE("ranks of a few nodes compute as few heads of others as they can, those of many one after another") {
  // A document fills slot 0; the other slots, each a node of eight ranks, are empty and get 2 and 1.6 of its 8 heads.
  auto const heads_of_each = [](std::int32_t slots) {
    pool_batch batch = documents({65536}, 65536, 8);
    batch.shape = {16, 8, 64, {}};
    batch.slots = slots;
    std::set<std::pair<std::int32_t, std::int32_t>> heads;
    for (tile const& t : pooled{}(batch, pair_count{}, libra::topology{.ranks_per_node = 8}).forward) {
      if (t.rank.value >= 8) {
        heads.insert({t.rank.value, t.head_begin / 2});
      }
    }
    return static_cast<double>(heads.size()) / (8 * (slots - 1));
  };
  CHECK(heads_of_each(4) <= 1.6);  // 2 in turn
  CHECK(heads_of_each(5) >= 3);    // 1.8 side by side
}

TEST_CASE("nothing leaves its node when nothing may") {
  pool_batch const batch = documents({8192, 512, 512, 512}, 8192, 2);
  libra::topology const links{.ranks_per_node = 2};
  CHECK(pooled{}.exporting_at_most(1000)(batch, pair_count{}, links) == pooled{}(batch, pair_count{}, links));
  pool_dispatch const held = pooled{}.exporting_at_most(0)(batch, pair_count{}, links);
  CHECK(libra::test::coverage_error(batch, held.forward) == "");
  for (tile const& t : held.forward) {
    CHECK(t.rank.value / 2 == batch[t.segment].slot.value);
  }
  // Less and less: what was held back stays so.
  CHECK(pooled{}.exporting_at_most(0).exporting_at_most(500).exported_permille == 0);
}

}  // namespace
