#include "support/random_cases.hpp"

#include <libra/cost/pair_count.hpp>
#include <libra/cost/roofline.hpp>
#include <libra/dispatch/node_balance.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace {

using libra::int128;
using libra::pass;
using libra::pool_batch;
using libra::detail::node_balance;
using libra::detail::pool_work;
using libra::detail::share;

/// Two nodes of one group of eight ranks each; `first` and `second` are the lengths of their documents.
pool_batch two_nodes(std::vector<std::int64_t> const& first, std::vector<std::int64_t> const& second,
                     std::int64_t window) {
  pool_batch batch{.shape = {32, 4, 128, {}}, .home = {window, 8}, .slots = 2, .first_rank = 0, .segments = {}};
  for (std::int32_t slot = 0; slot < 2; ++slot) {
    std::int64_t position = 0;
    for (std::int64_t const length : slot == 0 ? first : second) {
      batch.segments.push_back({{libra::document_id(batch.segments.size()), 0, length},
                                libra::sequence_id(slot),
                                libra::slot_id(slot),
                                position});
      position += length;
    }
  }
  return batch;
}

template <class Cost>
std::vector<std::vector<share>> balanced(pool_batch const& batch, Cost const& cost, libra::topology const& links = {}) {
  pool_work<Cost> const work(batch, cost, pass::forward);
  return node_balance<Cost>(work, links)();
}

template <class Cost>
int128 work_of(pool_batch const& batch, Cost const& cost, std::vector<share> const& shares) {
  pool_work<Cost> const work(batch, cost, pass::forward);
  int128 sum = 0;
  for (share const& s : shares) {
    sum += work.work_of(s);
  }
  return sum;
}

TEST_CASE("one node keeps everything") {
  pool_batch const batch = two_nodes({4096}, {}, 4096);
  libra::topology links;
  links.ranks_per_node = 16;
  auto const shares = balanced(batch, libra::pair_count{}, links);
  REQUIRE(shares.size() == 1);
  CHECK(shares[0].size() == 4);
}

TEST_CASE("a long document is shared by both nodes, few heads crossing") {
  pool_batch const batch = two_nodes({262144}, {4096, 4096}, 262144);
  auto const shares = balanced(batch, libra::roofline{});
  REQUIRE(shares.size() == 2);
  double const first = static_cast<double>(work_of(batch, libra::roofline{}, shares[0]));
  double const second = static_cast<double>(work_of(batch, libra::roofline{}, shares[1]));
  CHECK(first == doctest::Approx(second).epsilon(0.01));
  std::map<std::int32_t, int> heads;
  for (share const& s : shares[1]) {
    heads[s.head_begin] += s.segment.value == 0 ? 1 : 0;
  }
  CHECK(std::ranges::count_if(heads, [](auto const& h) { return h.second > 0; }) <= 3);
}

TEST_CASE("heads that no node has room for are dealt out together, so that each node computes several in turn") {
  // One document that fills a sequence, and seven empty ones: half a head for each helper.
  pool_batch batch = two_nodes({262144}, {}, 262144);
  batch.slots = 8;
  auto const shares = balanced(batch, libra::pair_count{});
  REQUIRE(shares.size() == 8);
  for (std::size_t n = 1; n < shares.size(); ++n) {
    std::map<std::int32_t, int> heads;
    for (share const& s : shares[n]) {
      ++heads[s.head_begin / batch.shape.group()];
    }
    // Three whole heads go to six nodes; half of the fourth, and what units of rows leave of the others, to the last.
    CHECK(heads.size() == (n < 7 ? 3 : 4));
    CHECK(heads.contains(3) == (n == 7));
    CHECK(std::ranges::all_of(heads, [](auto const& h) { return h.second == 1; }));
  }
}

TEST_CASE("what takes longer to move than to compute stays") {
  // Documents of 1,024 tokens are hardly any work for their bytes.
  pool_batch const batch = two_nodes(std::vector<std::int64_t>(32, 1024), {1024, 1024}, 32768);
  libra::topology slow;
  slow.network_bytes_per_second = 1'000'000'000;
  auto const shares = balanced(batch, libra::roofline{}, slow);
  for (std::size_t n = 0; n < 2; ++n) {
    for (share const& s : shares[n]) {
      CHECK(batch[s.segment].slot.index() == n);
    }
  }
  // A cost model that counts no time balances whatever the links.
  auto const even = balanced(batch, libra::pair_count{}, slow);
  CHECK(static_cast<double>(work_of(batch, libra::pair_count{}, even[0])) ==
        doctest::Approx(static_cast<double>(work_of(batch, libra::pair_count{}, even[1]))).epsilon(0.02));
}

TEST_CASE("what is given away leaves through the ports of all home ranks") {
  pool_batch const batch = two_nodes(std::vector<std::int64_t>(16, 16384), {}, 262144);
  auto const shares = balanced(batch, libra::pair_count{});
  std::map<std::int32_t, std::int64_t> rows;
  for (share const& s : shares[1]) {
    rows[batch.home_of(s.segment, s.begin).value] += s.end - s.begin;
  }
  CHECK(rows.size() == 8);
}

TEST_CASE("random pools: every row of every head is in one node's shares") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    pool_batch const batch = libra::test::random_pool(seed, {.tokens = 2500});
    INFO("seed ", seed, ": ", libra::test::describe(batch));
    libra::topology links;
    links.ranks_per_node = 1 + static_cast<std::int32_t>(seed % 5);
    std::map<std::pair<std::int32_t, std::int32_t>, std::vector<share>> of_head;
    for (auto const& node : balanced(batch, libra::roofline{}, links)) {
      for (share const& s : node) {
        of_head[{s.segment.value, s.head_begin}].push_back(s);
      }
    }
    REQUIRE(of_head.size() == batch.segments.size() * static_cast<std::size_t>(batch.shape.kv_heads));
    for (auto& [head, shares] : of_head) {
      std::ranges::sort(shares, {}, &share::begin);
      std::int64_t next = 0;
      for (share const& s : shares) {
        REQUIRE(s.begin == next);
        next = s.end;
      }
      REQUIRE(next == batch.length(shares.front().segment));
    }
  }
}

TEST_CASE("a node is as fast as its ranks together") {
  pool_batch batch = two_nodes({65536, 65536}, {65536, 65536}, 131072);
  auto const equal = balanced(batch, libra::roofline{});
  batch.speeds_permille.assign(16, 1000);
  CHECK(balanced(batch, libra::roofline{}) == equal);
  // Two of the second node's eight ranks at half speed: seven eighths of the first node's speed.
  batch.speeds_permille[9] = 500;
  batch.speeds_permille[14] = 500;
  auto const shares = balanced(batch, libra::roofline{});
  double const first = static_cast<double>(work_of(batch, libra::roofline{}, shares[0]));
  double const second = static_cast<double>(work_of(batch, libra::roofline{}, shares[1]));
  CHECK(second == doctest::Approx(first * 7 / 8).epsilon(0.01));
}

TEST_CASE("a node gives away no more of its surplus than it may") {
  pool_batch const batch = two_nodes({65536, 65536}, {}, 131072);
  libra::roofline const cost;
  pool_work<libra::roofline> const work(batch, cost, pass::forward);
  double const all = static_cast<double>(work_of(batch, cost, node_balance<libra::roofline>(work, {})()[1]));
  CHECK(all == doctest::Approx(static_cast<double>(work.total) / 2).epsilon(0.01));
  for (std::int32_t const permille : {500, 250}) {
    double const part =
        static_cast<double>(work_of(batch, cost, node_balance<libra::roofline>(work, {}, permille)()[1]));
    CHECK(part == doctest::Approx(all * permille / 1000).epsilon(0.02));
  }
  CHECK(node_balance<libra::roofline>(work, {}, 0)()[1].empty());
}

}  // namespace
