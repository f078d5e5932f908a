#include "simt/block.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr simt::extent3 one_block{};
constexpr int seeds = 20;

void barrier(std::source_location at = std::source_location::current()) { simt::block_barrier(at); }

template <class Kernel>
std::string diagnosed(simt::launch_shape const& shape, Kernel kernel) {
  try {
    simt::launch(shape, kernel);
  } catch (simt::diagnosis const& e) {
    return e.what();
  }
  return {};
}

/// Every thread writes its number, then reads its mirror's: right only with a barrier between.
std::vector<unsigned> mirrored(std::uint64_t seed, bool with_barrier) {
  std::vector<unsigned> read(64);
  simt::launch({one_block, {64}, 64 * sizeof(unsigned), seed}, [&] {
    auto* const shared = reinterpret_cast<unsigned*>(simt::shared_memory());
    unsigned const t = simt::thread_index().x;
    shared[t] = t;
    if (with_barrier) {
      barrier();
    }
    read[t] = shared[63 - t];
  });
  return read;
}

bool is_mirror(std::vector<unsigned> const& read) {
  for (unsigned t = 0; t < read.size(); ++t) {
    if (read[t] != read.size() - 1 - t) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every thread of every block runs once, with its own indices") {
  simt::extent3 const grid{3, 2, 2};
  simt::extent3 const block{5, 3, 2};
  std::multiset<std::vector<unsigned>> seen;
  simt::launch({grid, block, 0, 1}, [&] {
    auto const b = simt::block_index();
    auto const t = simt::thread_index();
    CHECK(simt::grid_extent().count() == grid.count());
    CHECK(simt::block_extent().count() == block.count());
    CHECK(simt::lane() == (t.x + 5 * (t.y + 3 * t.z)) % 32);
    seen.insert({b.x, b.y, b.z, t.x, t.y, t.z});
  });
  CHECK(seen.size() == grid.count() * block.count());
  CHECK(std::set(seen.begin(), seen.end()).size() == seen.size());
}

TEST_CASE("the order of threads follows from the seed, and differs between seeds") {
  auto const order = [](std::uint64_t seed) {
    std::vector<unsigned> result;
    simt::launch({one_block, {32}, 0, seed}, [&] { result.push_back(simt::thread_index().x); });
    return result;
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
}

TEST_CASE("a barrier makes what was written before visible after, whatever the order") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CHECK(is_mirror(mirrored(seed, true)));
  }
}

TEST_CASE("planted: a removed barrier gives wrong results with every seed") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CHECK_FALSE(is_mirror(mirrored(seed, false)));
  }
}

TEST_CASE("planted: a barrier that part of the block reaches elsewhere is diagnosed with both places") {
  int first_line = 0;
  int second_line = 0;
  std::string const text = diagnosed({one_block, {64}, 0, 3}, [&] {
    if (simt::thread_index().x < 40) {
      first_line = __LINE__ + 1;
      barrier();
    } else {
      second_line = __LINE__ + 1;
      barrier();
    }
  });
  CHECK(text.find("a barrier needs all threads of the block") != std::string::npos);
  CHECK(text.find("block_test.cpp:" + std::to_string(first_line)) != std::string::npos);
  CHECK(text.find("block_test.cpp:" + std::to_string(second_line)) != std::string::npos);
}

TEST_CASE("planted: a barrier that part of the block never reaches is diagnosed") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    std::string const text = diagnosed({one_block, {64}, 0, seed}, [] {
      if (simt::thread_index().x != 17) {
        barrier();
      }
    });
    CHECK(text.find("has returned") != std::string::npos);
  }
}

TEST_CASE("planted: a warp that waits for its block while some of its lanes wait for the warp") {
  std::string const text = diagnosed({one_block, {64}, 0, 5}, [] {
    if (simt::lane() < 3) {
      static_cast<void>(simt::exchange(1, std::source_location::current()));
    } else {
      barrier();
    }
  });
  CHECK(text.find("of the warp") != std::string::npos);
}

TEST_CASE("a barrier in a loop is passed as often by all") {
  std::vector<int> rounds(96);
  simt::launch({one_block, {96}, 0, 7}, [&] {
    for (int i = 0; i < 5; ++i) {
      CHECK(*std::ranges::min_element(rounds) >= i - 1);
      ++rounds[simt::thread_index().x];
      barrier();
      CHECK(std::ranges::count(rounds, i) == 0);
      barrier();
    }
  });
}

TEST_CASE("lanes see what the lanes of their own warp have published, time after time") {
  std::vector<unsigned> got(64);
  simt::launch({one_block, {64}, 0, 11}, [&] {
    unsigned const t = simt::thread_index().x;
    for (unsigned i = 0; i < 10; ++i) {
      auto const all = simt::exchange(t + 100 * i, std::source_location::current());
      for (unsigned l = 0; l < 32; ++l) {
        got[t] += all[l] != t / 32 * 32 + l + 100 * i;
      }
    }
  });
  CHECK(std::ranges::count(got, 0U) == 64);
}

TEST_CASE("shared memory begins as NaN in every block") {
  int poisoned = 0;
  simt::launch({{4}, {1}, 8, 1}, [&] {
    float x = 0;
    std::memcpy(&x, simt::shared_memory(), sizeof x);
    poisoned += std::isnan(x);
    x = 1;
    std::memcpy(simt::shared_memory(), &x, sizeof x);
  });
  CHECK(poisoned == 4);
}

TEST_CASE("what a thread throws ends the launch") {
  CHECK_THROWS_WITH_AS(simt::launch({one_block, {32}, 0, 1},
                                    [] {
                                      if (simt::thread_index().x == 9) throw std::runtime_error("thread 9");
                                      barrier();
                                    }),
                       "thread 9", std::runtime_error);
  CHECK(is_mirror(mirrored(1, true)));  // and the next one works
}

TEST_CASE("launches that no device takes are refused") {
  CHECK_FALSE(diagnosed({one_block, {1025}, 0, 1}, [] {}).empty());
  CHECK_FALSE(diagnosed({one_block, {0}, 0, 1}, [] {}).empty());
  CHECK_FALSE(diagnosed({{0}, {32}, 0, 1}, [] {}).empty());
  CHECK_FALSE(diagnosed({one_block, {32}, 0, 1}, [] { simt::launch({{}, {1}, 0, 1}, [] {}); }).empty());
}
