#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/cost/roofline.hpp>
#include <libra/dispatch/pooled.hpp>
#include <libra/plan/memory_saving.hpp>
#include <libra/plan/workspace_error.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace {

using libra::lowering_options;
using libra::memory_saving;
using libra::pass;
using libra::pool_batch;
using libra::saved_pass;
using libra::tile;

/// One document of many key blocks, of which each of four ranks holds a quarter.
pool_batch long_document_pool() {
  return {.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = {}},
          .home = {16384, 4},
          .slots = 1,
          .first_rank = 0,
          .segments = {{{libra::document_id(0), 0, 16384}, libra::sequence_id(0), libra::slot_id(0), 0}}};
}

struct asked_tiles {
  pool_batch const& batch;
  bool limits_exports{};
  std::vector<std::int32_t>& asked;

  std::optional<std::vector<tile>> operator()(std::int32_t permille) const {
    asked.push_back(permille);
    if (permille < 1000 && !limits_exports) {
      return std::nullopt;
    }
    return libra::pooled{.exported_permille = permille}(batch, libra::roofline{}, {.ranks_per_node = 2}).backward;
  }
};

TEST_CASE("savings are tried from those that lose least time, each way once") {
  CHECK(libra::memory_savings.front() == memory_saving{5, 1, 1000});
  std::set<std::tuple<std::int32_t, std::int32_t, std::int32_t>> seen;
  for (memory_saving const& s : libra::memory_savings) {
    CHECK(s.alive_waves >= libra::detail::least_alive_waves);
    CHECK(s.alive_waves < lowering_options{}.alive_waves);
    CHECK(s.waves >= 1);
    CHECK(seen.insert({s.exported_permille, s.alive_waves, s.waves}).second);
  }
  CHECK(std::ranges::is_sorted(libra::memory_savings, std::ranges::greater{}, &memory_saving::exported_permille));
}

TEST_CASE("a saving never takes more waves away or keeps more alive") {
  lowering_options const many{.waves = 40, .alive_waves = 4};
  CHECK(with_saving(many, {5, 16}).waves == 40);
  CHECK(with_saving(many, {5, 16}).alive_waves == 4);
  lowering_options const few{.waves = 5, .alive_waves = 6};
  CHECK(with_saving(few, {5, 16}).waves == 16);
  CHECK(with_saving(few, {5, 16}).alive_waves == 5);
  CHECK(with_saving(few, {5, 16}).spread_bytes == few.spread_bytes);
}

TEST_CASE("the first way within the limit is taken, and what none keeps says what the best needs") {
  pool_batch const batch = long_document_pool();
  lowering_options const usual{.waves = 2, .ranks_per_node = 2};
  std::vector<std::int32_t> asked;
  saved_pass const none = lower_within(1, batch, pass::backward, usual, asked_tiles{batch, true, asked});
  CHECK(none.tiles.empty());
  CHECK(none.least_bytes > 1);
  CHECK(asked == std::vector<std::int32_t>{1000, 500, 250, 0});

  saved_pass const best = lower_within(none.least_bytes, batch, pass::backward, usual, asked_tiles{batch, true, asked});
  CHECK(workspace_of(best.program) == none.least_bytes);
  CHECK(best.least_bytes == none.least_bytes);
  CHECK(!best.tiles.empty());

  // Whatever the limit, what is taken is the first that fits.
  std::int64_t last = 0;
  for (memory_saving const& s : libra::memory_savings) {
    if (s.exported_permille == 1000) {
      std::int64_t const bytes =
          workspace_of(lower(batch, *asked_tiles{batch, true, asked}(1000), pass::backward, with_saving(usual, s)));
      if (last == 0 || bytes < last) {
        saved_pass const first = lower_within(bytes, batch, pass::backward, usual, asked_tiles{batch, true, asked});
        CHECK(first.program == lower(batch, first.tiles, pass::backward, with_saving(usual, s)));
        last = bytes;
      }
    }
  }
  CHECK(last > 0);
}

TEST_CASE("a dispatcher that cannot hold back is asked for its usual tiles only") {
  pool_batch const batch = long_document_pool();
  std::vector<std::int32_t> asked;
  saved_pass const kept =
      lower_within(1, batch, pass::backward, {.waves = 2, .ranks_per_node = 2}, asked_tiles{batch, false, asked});
  CHECK(kept.least_bytes > 1);
  saved_pass const held =
      lower_within(1, batch, pass::backward, {.waves = 2, .ranks_per_node = 2}, asked_tiles{batch, true, asked});
  CHECK(held.least_bytes <= kept.least_bytes);
}

TEST_CASE("the error carries the least, and is an input error") {
  libra::workspace_error const e("too little", 7);
  CHECK(e.least_bytes() == 7);
  CHECK_THROWS_WITH_AS(throw libra::workspace_error("too little", 7), "too little", libra::input_error);
}

}  // namespace
