#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/plan/prediction.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using libra::int128;
using libra::predicted_skew;

TEST_CASE("equal sequences, or one pool of everything, have no skew") {
  std::vector<int128> const equal(64, 5);
  CHECK(predicted_skew(equal, 8, 64) == doctest::Approx(1));
  std::vector<int128> const mixed{1, 2, 3, 10};
  CHECK(predicted_skew(mixed, 4, 4) == doctest::Approx(1));
  CHECK(predicted_skew(std::vector<int128>{7}, 1, 1) == 1);
  CHECK(predicted_skew(std::vector<int128>(8, 0), 2, 8) == 1);
}

TEST_CASE("by hand: mean 2, standard deviation 1, two pools") {
  // Blom: the quantile of 1.625 / 2.25 is 0.5895; four of a thousand vary by 1 / 2.
  std::vector<int128> work;
  for (int i = 0; i < 500; ++i) {
    work.push_back(1);
    work.push_back(3);
  }
  CHECK(predicted_skew(work, 4, 8) == doctest::Approx(1 + 0.5895 * 0.25).epsilon(0.002));
}

TEST_CASE("larger pools are predicted to be more even, and pools drawn at random are as predicted") {
  libra::random_bits bits(91);
  std::vector<int128> work;
  for (int i = 0; i < 6400; ++i) {
    work.push_back(bits.between(0, 1000) + bits.between(0, 1000));
  }
  double last = 100;
  for (std::int32_t const slots : {1, 2, 4, 8, 16, 32}) {
    double const predicted = predicted_skew(work, slots, 64);
    CHECK(predicted < last);
    last = predicted;
    libra::shuffle(std::span(work), bits);
    double sum = 0;
    double largest = 0;
    for (std::size_t first = 0; first < work.size(); first += 64) {
      int128 most = 0;
      for (std::size_t p = first; p < first + 64; p += static_cast<std::size_t>(slots)) {
        int128 pool = 0;
        for (std::size_t s = p; s < p + static_cast<std::size_t>(slots); ++s) {
          pool += work[s];
        }
        most = std::max(most, pool);
        sum += static_cast<double>(pool);
      }
      largest += static_cast<double>(most) * 64 / slots;
    }
    CAPTURE(slots);
    CHECK(largest / sum == doctest::Approx(predicted).epsilon(0.05));
  }
}

}  // namespace
