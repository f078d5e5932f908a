#include "support/hand_pool.hpp"
#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/program/rounds.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace {

using libra::pass;
using libra::rank_id;
using libra::segment_id;
using libra::tensor;
using libra::transfer;

TEST_CASE("no rank is brought a row twice over all rounds, and a key only when it passed it on before") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    libra::test::planning_case const c = libra::test::random_case(seed, {.tokens = 700});
    INFO(c.describe());
    libra::pool_plan const pool = c.make_scheduler().plan_pool(c.plan(), libra::micro_step_id(0), libra::pool_id(0));
    for (pass const p : {pass::forward, pass::backward}) {
      for (libra::program const& code : pool.of(p).ranks) {
        std::map<std::tuple<tensor, std::int32_t, std::int32_t, std::int64_t>, int> seen;
        bool once = true;
        for (transfer const& t : code.receives) {
          // Partial sums of one key come from several ranks, and several from a neighbour that passes them on; that no
          // tile is added twice, the verifier says.
          for (std::int32_t h = t.what.head_begin; h < t.what.head_end && !is_partial_sum(t.what.what); ++h) {
            for (std::int64_t token = t.what.tokens.begin; token < t.what.tokens.end; ++token) {
              int const times = ++seen[{t.what.what, t.what.segment.value, h, token}];
              once = once && times <= (t.what.what == tensor::k || t.what.what == tensor::v ? 2 : 1);
            }
          }
        }
        REQUIRE(once);
      }
    }
  }
}

TEST_CASE("keys of a later wave are fetched only as far as an earlier one has not brought them") {
  // Rank 3 computes rows [128, 192), then [192, 256) of segment 0: the second wave needs 64 more keys.
  std::vector<libra::tile> const tiles{
      {segment_id(0), rank_id(3), 0, 2, 0, 128},   {segment_id(0), rank_id(3), 0, 2, 128, 192},
      {segment_id(0), rank_id(3), 0, 2, 192, 256}, {segment_id(0), rank_id(0), 2, 4, 0, 256},
      {segment_id(1), rank_id(2), 0, 2, 0, 100},   {segment_id(1), rank_id(2), 2, 4, 0, 100},
      {segment_id(2), rank_id(2), 0, 2, 0, 60},    {segment_id(2), rank_id(2), 2, 4, 0, 60}};
  libra::pool_program const programs =
      libra::lower(libra::test::hand_pool(), tiles, pass::forward, {.width = {}, .waves = 4});
  std::int64_t keys = 0;
  std::size_t rounds = 0;
  for (libra::op const& o : programs.ranks[3].ops) {
    if (o.on == libra::queue::fetch) {
      ++rounds;
      for (transfer const& t : programs.ranks[3].receives_of(o)) {
        keys += t.what.what == tensor::k ? t.what.tokens.size() : 0;
      }
    }
  }
  CHECK(rounds > 1);
  CHECK(keys == 256);
}

}  // namespace
