#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/place/fill.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using libra::bin;
using libra::int128;
using libra::sequence_id;

static_assert(std::is_trivially_copyable_v<bin>);

TEST_CASE("bins are compared by load per slot, exactly") {
  CHECK(bin::lighter({.slots = 3, .load = 8}, {.slots = 2, .load = 6}));  // 2.67 < 3
  CHECK_FALSE(bin::lighter({.slots = 2, .load = 6}, {.slots = 3, .load = 8}));
  CHECK_FALSE(bin::lighter({.slots = 3, .load = 9}, {.slots = 2, .load = 6}));
  CHECK_FALSE(bin::lighter({.slots = 2, .load = 6}, {.slots = 3, .load = 9}));
  int128 const huge = static_cast<int128>(1) << 90;
  CHECK(bin::lighter({.slots = 2, .load = huge}, {.slots = 2, .load = huge + 1}));
}

TEST_CASE("sequences by falling work, equal ones by number") {
  std::vector<int128> const work{5, 9, 5, 1, 9};
  std::vector<sequence_id> order;
  for (std::int32_t const s : {3, 4, 2, 1, 0}) {
    order.emplace_back(s);
  }
  sort_heaviest_first(order, work);
  std::vector<std::int32_t> numbers;
  for (sequence_id const s : order) {
    numbers.push_back(s.value);
  }
  CHECK(numbers == std::vector<std::int32_t>{1, 4, 0, 2, 3});
}

TEST_CASE("by hand: an outlier's bin ends up with the lightest company") {
  std::vector<int128> const work{100, 6, 5, 4, 3, 2};
  std::vector<sequence_id> order;
  for (std::int32_t s = 0; s < 6; ++s) {
    order.emplace_back(s);
  }
  std::vector<bin> bins{{.first = 0, .slots = 3}, {.first = 3, .slots = 3}};
  std::vector<sequence_id> at(6);
  fill_longest_first(order, work, bins, at);
  // 100 to the first, 6, 5 and 4 to the second, then only the first is free.
  CHECK(at == std::vector<sequence_id>{sequence_id(0), sequence_id(4), sequence_id(5), sequence_id(1), sequence_id(2),
                                       sequence_id(3)});
  CHECK(bins[0].load == 105);
  CHECK(bins[1].load == 15);
  CHECK(bins[0].filled == 3);
}

TEST_CASE("agrees with looking for the lightest bin every time") {
  libra::random_bits bits(10);
  for (int i = 0; i < 1500; ++i) {
    std::vector<bin> bins;
    std::size_t slots = 0;
    for (std::int64_t b = bits.between(1, 8); b > 0; --b) {
      bins.push_back({.first = slots, .slots = static_cast<std::int32_t>(bits.between(1, 5))});
      slots += static_cast<std::size_t>(bins.back().slots);
    }
    std::vector<int128> work;
    std::vector<sequence_id> order;
    for (std::size_t s = 0; s < slots; ++s) {
      work.push_back(bits.between(0, 12));
      order.emplace_back(s);
    }
    sort_heaviest_first(order, work);
    std::vector<bin> expected_bins = bins;
    std::vector<sequence_id> expected(slots);
    for (sequence_id const s : order) {
      bin* lightest = nullptr;
      for (bin& b : expected_bins) {
        if (b.filled < b.slots && (lightest == nullptr || b.load * lightest->slots < lightest->load * b.slots)) {
          lightest = &b;
        }
      }
      expected[lightest->first + static_cast<std::size_t>(lightest->filled++)] = s;
      lightest->load += work[s.index()];
    }
    std::vector<sequence_id> at(slots);
    fill_longest_first(order, work, bins, at);
    REQUIRE(at == expected);
    for (std::size_t b = 0; b < bins.size(); ++b) {
      REQUIRE(bins[b].load == expected_bins[b].load);
    }
  }
}

}  // namespace
