#include <libra/run/gather_lengths.hpp>

#include <libra/host/transport.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using libra::rank_id;
using libra::host::rank_group;
using libra::host::transport;
using lengths = std::vector<std::int64_t>;

/// Gathers one list per rank and returns what each rank got.
std::vector<libra::ragged<std::int64_t>> gathered(std::vector<lengths> const& lists) {
  std::vector<libra::ragged<std::int64_t>> got(lists.size());
  rank_group group(static_cast<std::int32_t>(lists.size()));
  run_ranks(group, [&](rank_id rank) {
    transport t(group, rank);
    got[rank.index()] = libra::gather_lengths(t, lists[rank.index()]);
  });
  return got;
}

TEST_CASE("every rank gets every rank's lengths, in order") {
  std::vector<lengths> const lists{{5, 1, std::int64_t{1} << 40}, {}, {7}, {1, 1, 1, 1, 1}};
  for (auto const& all : gathered(lists)) {
    REQUIRE(all.size() == lists.size());
    for (std::size_t r = 0; r < lists.size(); ++r) {
      CHECK(std::ranges::equal(all[r], lists[r]));
    }
    CHECK(lengths(all.values().begin(), all.values().end()) == lengths{5, 1, std::int64_t{1} << 40, 7, 1, 1, 1, 1, 1});
  }
}

TEST_CASE("one rank, and ranks without documents") {
  CHECK(std::ranges::equal(gathered({{3, 2}})[0].values(), lengths{3, 2}));
  auto const none = gathered({{}, {}});
  CHECK(none[1].size() == 2);
  CHECK(none[1].values().empty());
}

TEST_CASE("a length that is none is the input error of its rank; the others throw too") {
  rank_group group(3);
  std::vector<std::string> thrown(3);
  CHECK_THROWS_AS(run_ranks(group,
                            [&](rank_id rank) {
                              transport t(group, rank);
                              lengths const mine{1, rank.value == 1 ? -2 : 2};
                              try {
                                static_cast<void>(libra::gather_lengths(t, mine));
                              } catch (libra::error const& e) {
                                thrown[rank.index()] = e.message();
                                throw;
                              }
                            }),
                  libra::input_error);
  CHECK(thrown[1] == "rank 1: length 1 is -2 tokens, expected at least 1");
  CHECK(thrown[0] == "rank 1 failed: " + thrown[1]);
  CHECK(thrown[2] == thrown[0]);
}

}  // namespace
