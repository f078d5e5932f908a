#include <libra/core/random.hpp>
#include <libra/sim/fastest.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

/// Costs the sum of its parts; of those that are not known yet it knows a share.
struct parts {
  std::vector<std::int64_t> cost;
  std::int64_t known_share_permille{};
  std::size_t known{};

  [[nodiscard]] double least() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < cost.size(); ++i) {
      sum += i < known ? cost[i] * 1000 : cost[i] * known_share_permille;
    }
    return static_cast<double>(sum);
  }
  [[nodiscard]] bool done() const { return known == cost.size(); }
  void advance() { ++known; }
};

TEST_CASE("the least, of equals the first, as if all had been found out") {
  libra::random_bits bits(5);
  for (int i = 0; i < 500; ++i) {
    std::vector<parts> all(static_cast<std::size_t>(bits.between(1, 6)));
    for (parts& p : all) {
      p.known_share_permille = bits.between(0, 1000);
      p.cost.resize(static_cast<std::size_t>(bits.between(0, 4)));
      std::ranges::generate(p.cost, [&] { return bits.between(0, 3); });
    }
    std::vector<double> totals;
    for (parts p : all) {
      p.known = p.cost.size();
      totals.push_back(p.least());
    }
    std::size_t const got = libra::sim::fastest(std::span(all));
    REQUIRE(got == static_cast<std::size_t>(std::ranges::min_element(totals) - totals.begin()));
    REQUIRE(all[got].done());
  }
}

TEST_CASE("one that is seen to lose is left alone") {
  std::vector<parts> all{{{5, 5, 5, 5}, 0}, {{1, 1, 1}, 0}, {{9, 9}, 1000}};
  CHECK(libra::sim::fastest(std::span(all)) == 1);
  CHECK(all[0].known == 1);
  CHECK(all[2].known == 0);
}

}  // namespace
