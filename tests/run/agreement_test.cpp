#include "run/doubles.hpp"

#include <libra/run/agreement.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

namespace {

libra::pool_fingerprint some_fingerprint() { return {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}}; }

/// The rank that the last word of the last rank is changed on.
struct odd_one_out : doubles::transport {
  std::size_t word{};
  void gather(std::span<std::uint64_t const> mine, std::span<std::uint64_t> all) {
    doubles::transport::gather(mine, all);
    all[all.size() - mine.size() + word] += 1;
  }
};

TEST_CASE("equal fingerprints agree") {
  doubles::journal log;
  doubles::transport transport{.log = &log, .self = {}, .size = 5, .tests_finish = false, .sends = {}, .receives = {}};
  CHECK_NOTHROW(libra::agree(transport, some_fingerprint()));
}

TEST_CASE("a difference names two ranks and the first field that differs") {
  doubles::journal log;
  odd_one_out transport{{.log = &log, .self = {}, .size = 3, .tests_finish = false, .sends = {}, .receives = {}}, 5};
  libra::pool_fingerprint other = some_fingerprint();
  other.tiles_backward.low += 1;
  CHECK_THROWS_WITH_AS(
      libra::agree(transport, some_fingerprint()),
      libra::message("plans differ: the pool's fingerprint is ", to_hex(some_fingerprint().combined()),
                     " on rank 0 and ", to_hex(other.combined()), " on rank 2, which differ first in tiles_backward")
          .c_str(),
      libra::run_error);
}

TEST_CASE("every word of a fingerprint is compared") {
  for (std::size_t word = 0; word < 10; ++word) {
    doubles::journal log;
    odd_one_out transport{{.log = &log, .self = {}, .size = 2, .tests_finish = false, .sends = {}, .receives = {}},
                          word};
    CHECK_THROWS_AS(libra::agree(transport, some_fingerprint()), libra::run_error);
  }
}

TEST_CASE("placements are compared like pools") {
  libra::placement_fingerprint const mine{{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  std::array<std::string, 4> const fields{"inputs", "configuration", "packing", "slots"};
  for (std::size_t word = 0; word < 8; ++word) {
    doubles::journal log;
    odd_one_out transport{{.log = &log, .self = {}, .size = 2, .tests_finish = false, .sends = {}, .receives = {}},
                          word};
    std::string what;
    try {
      libra::agree(transport, mine);
    } catch (libra::run_error const& e) {
      what = e.what();
    }
    CHECK(what.starts_with("plans differ: the placement's fingerprint is " + to_hex(mine.combined()) + " on rank 0"));
    CHECK(what.ends_with(" on rank 1, which differ first in " + fields[word / 2]));
  }
  doubles::journal log;
  doubles::transport transport{.log = &log, .self = {}, .size = 5, .tests_finish = false, .sends = {}, .receives = {}};
  CHECK_NOTHROW(libra::agree(transport, mine));
}

TEST_CASE("ranks with another softmax scale are found, after the plans") {
  doubles::journal log;
  odd_one_out transport{{.log = &log, .self = {}, .size = 3, .tests_finish = false, .sends = {}, .receives = {}}, 10};
  CHECK_THROWS_WITH_AS(libra::agree(transport, some_fingerprint(), 0.25F),
                       "options differ: softmax_scale is 0.250000 on rank 0 and 0.250000 on rank 2", libra::run_error);
  transport.word = 9;
  CHECK_THROWS_WITH_AS(libra::agree(transport, some_fingerprint(), 0.25F),
                       doctest::Contains("differ first in program_backward"), libra::run_error);
  doubles::transport equal{.log = &log, .self = {}, .size = 3, .tests_finish = false, .sends = {}, .receives = {}};
  CHECK_NOTHROW(libra::agree(equal, some_fingerprint(), 0.25F));
  CHECK(std::ranges::count(log, "gather") == 3);
}

}  // namespace
