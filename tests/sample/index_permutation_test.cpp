#include <libra/sample/index_permutation.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

using libra::index_permutation;

TEST_CASE("every index comes once") {
  for (std::int64_t const size : {1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 100, 1000, 4097}) {
    for (std::uint64_t const key : {0U, 1U, 77U}) {
      index_permutation const order(size, key);
      std::vector<bool> seen(static_cast<std::size_t>(size));
      for (std::int64_t i = 0; i < size; ++i) {
        std::int64_t const at = order[i];
        REQUIRE(at >= 0);
        REQUIRE(at < size);
        REQUIRE(!seen[static_cast<std::size_t>(at)]);
        seen[static_cast<std::size_t>(at)] = true;
      }
    }
  }
}

TEST_CASE("sizes beyond what could be stored") {
  std::int64_t const size = (std::int64_t{1} << 62) + 12345;
  index_permutation const order(size, 5);
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 1000; ++i) seen.insert(order[size - 1 - i]);
  CHECK(seen.size() == 1000);
  CHECK(*seen.begin() >= 0);
  CHECK(*seen.rbegin() < size);
}

TEST_CASE("orders of three are equally likely, whatever the key's bits") {
  std::vector<int> count(27);
  int const keys = 60000;
  for (std::uint64_t key = 0; key < keys; ++key) {
    index_permutation const order(3, key);
    ++count[static_cast<std::size_t>(order[0] * 9 + order[1] * 3 + order[2])];
  }
  int kinds = 0;
  for (int const c : count) {
    if (c == 0) continue;
    ++kinds;
    CHECK(c > keys / 6 - 1000);
    CHECK(c < keys / 6 + 1000);
  }
  CHECK(kinds == 6);
}

TEST_CASE("positions are spread evenly, and neighbours are not kept together") {
  std::int64_t const size = 100000;
  index_permutation const order(size, 42);
  // Chi-square of where the first tenth of the order comes from, in 100 parts: mean 99, deviation 14.
  std::vector<double> part(100);
  std::int64_t neighbours = 0;
  for (std::int64_t i = 0; i < size / 10; ++i) {
    part[static_cast<std::size_t>(order[i] * 100 / size)] += 1;
    std::int64_t const step = order[i + 1] - order[i];
    neighbours += step == 1 || step == -1 ? 1 : 0;
  }
  double chi = 0;
  for (double const p : part) chi += (p - 100) * (p - 100) / 100;
  CHECK(chi > 40);
  CHECK(chi < 170);
  CHECK(neighbours < 5);
}

TEST_CASE("the order is fixed for good") {
  index_permutation const order(1000, 1);
  std::vector<std::int64_t> first;
  for (std::int64_t i = 0; i < 5; ++i) first.push_back(order[i]);
  // Regenerate only together with sampler_state::current_version: states of old checkpoints point into this order.
  CHECK(first == std::vector<std::int64_t>{309, 852, 60, 186, 462});
}
