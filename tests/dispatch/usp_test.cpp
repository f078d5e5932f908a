#include "support/printing.hpp"

#include <libra/cost/pair_count.hpp>
#include <libra/dispatch/usp.hpp>
#include <libra/dispatch/zigzag_ring.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

namespace {

libra::pool_batch batch_of(std::int32_t cp) {
  libra::pool_batch batch;
  batch.shape = {8, 2, 16, {}};
  batch.home = {64, cp, libra::sharding::zigzag};
  batch.slots = 1;
  batch.segments.push_back({{libra::document_id(0), 0, 48}, libra::sequence_id(0), libra::slot_id(0), 0});
  batch.number_rows();
  return batch;
}

std::vector<libra::tile> tiles(std::int32_t cp, std::int32_t head_ranks) {
  return libra::usp{head_ranks}(batch_of(cp), libra::pair_count{}, libra::topology{}).forward;
}

TEST_CASE("one head rank is the plain ring") {
  CHECK(tiles(4, 1) == libra::zigzag_ring{}(batch_of(4), libra::pair_count{}, libra::topology{}).forward);
}

TEST_CASE("head ranks are neighbours: rank r * U + u has share u of the heads and chunks r from either end") {
  for (libra::tile const& t : tiles(4, 2)) {
    std::int32_t const u = t.rank.value % 2;
    std::int32_t const r = t.rank.value / 2;
    CHECK(t.head_begin / 4 == u);
    CHECK((t.q_begin == r * 12 || t.q_begin == (3 - r) * 12));
    CHECK(t.q_end == t.q_begin + 12);
  }
}

TEST_CASE("as many head ranks as the group has: every rank computes all rows") {
  for (libra::tile const& t : tiles(2, 2)) {
    CHECK((t.q_begin == 0 || t.q_begin == 24));
  }
}

TEST_CASE("head ranks that do not divide the group are refused by name") {
  CHECK_THROWS_WITH_AS(static_cast<void>(tiles(4, 3)), "head_ranks is 3, expected a divisor of cp 4",
                       libra::input_error);
}

}  // namespace
