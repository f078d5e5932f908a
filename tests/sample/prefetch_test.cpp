#include <libra/sample/prefetch.hpp>

#include <support/printing.hpp>
#include <support/sampling.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

using libra::global_batch;
using libra::layout;
using libra::prefetch;
using libra::sampler;
using libra::span_lengths;
using libra::test::contents;
using libra::test::placed;

namespace {

constexpr layout small{.window_tokens = 100, .dp = 2, .cp = 2, .pool = 2, .micro_steps = 2};

std::vector<std::int64_t> const& list() {
  static std::vector<std::int64_t> const lengths = libra::test::sample_lengths(300, 100, 2);
  return lengths;
}

auto make() { return sampler(span_lengths(list()), placed(), small); }

}  // namespace

TEST_CASE("what is prefetched is what the sampler yields, with its states") {
  auto direct = make();
  prefetch ahead(make(), 3);
  CHECK(ahead.state() == direct.state());
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (;;) {
      std::optional<global_batch> const expected = direct.next();
      std::optional<global_batch> const got = ahead.next();
      REQUIRE(expected.has_value() == got.has_value());
      REQUIRE(ahead.state() == direct.state());
      if (!expected) break;
      REQUIRE(got->plan.packing == expected->plan.packing);
      REQUIRE(got->plan.placement == expected->plan.placement);
    }
  }
}

TEST_CASE("at most depth results wait, and the state does not know of them") {
  std::atomic<int> prepared{0};
  prefetch ahead(make(), 2, [&](global_batch&& batch) {
    ++prepared;
    return batch.number;
  });
  auto const settled = [&](int count) {
    for (int i = 0; i < 2000 && prepared < count; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return prepared.load();
  };
  CHECK(settled(2) == 2);
  CHECK(ahead.state().position.batch == 0);
  CHECK(ahead.next() == 0);
  CHECK(settled(3) == 3);
  CHECK(ahead.state().position.batch == 1);
}

TEST_CASE("it goes on from a state, back or ahead, and size knows the epoch") {
  prefetch ahead(make(), 2);
  std::int64_t const size = ahead.size();
  CHECK(size == make().size());
  std::vector<libra::sampler_state> states{ahead.state()};
  std::vector<std::vector<std::vector<libra::segment>>> batches;
  while (auto const batch = ahead.next()) {
    batches.push_back(contents(*batch));
    states.push_back(ahead.state());
  }
  REQUIRE(static_cast<std::int64_t>(batches.size()) == size);
  for (std::size_t const from : {batches.size() - 1, std::size_t{0}, batches.size() / 2}) {
    ahead.restore(states[from]);
    CHECK(ahead.state() == states[from]);
    CHECK(contents(*ahead.next()) == batches[from]);
    CHECK(ahead.size() == size);
    CHECK(ahead.state() == states[from + 1]);
  }
  libra::sampler_state other = states[0];
  other.stream.seed = 1;
  auto const before = ahead.state();
  CHECK_THROWS_AS(ahead.restore(other), libra::input_error);
  CHECK(ahead.state() == before);
  CHECK(ahead.next().has_value());
}

TEST_CASE("what the thread throws reaches the caller, who may try again") {
  std::atomic<bool> broken{true};
  prefetch ahead(make(), 2, [&](global_batch&& batch) {
    if (batch.number == 2 && broken) throw std::runtime_error("no plan for batch 2");
    return batch.number;
  });
  CHECK(ahead.next() == 0);
  CHECK(ahead.next() == 1);
  for (int again = 0; again < 2; ++again) {
    CHECK_THROWS_WITH_AS(static_cast<void>(ahead.next()), "no plan for batch 2", std::runtime_error);
    CHECK(ahead.state().position.batch == 2);
  }
  broken = false;
  // The thread may have met the failure once more already.
  std::optional<std::int64_t> next;
  while (!next) {
    try {
      next = ahead.next();
    } catch (std::runtime_error const&) {
    }
  }
  CHECK(*next == 2);
}

TEST_CASE("a size that cannot be known is an error, and no reason to wait forever") {
  std::vector<std::int64_t> lengths(60, 50);
  lengths[50] = -1;
  prefetch ahead(sampler(span_lengths(lengths), placed(), small, {.documents = {.shuffle = false}}), 2);
  CHECK(ahead.next()->number == 0);
  for (int again = 0; again < 2; ++again) {
    CHECK_THROWS_WITH_AS(static_cast<void>(ahead.size()), "length of document 50 is -1, expected at least 0",
                         libra::input_error);
    CHECK(ahead.next()->number == 1 + again);
  }
}

TEST_CASE("it stops at any moment of an epoch") {
  for (int taken = 0; taken < 20; ++taken) {
    prefetch ahead(make(), 1 + static_cast<std::size_t>(taken % 3));
    for (int i = 0; i < taken; ++i) static_cast<void>(ahead.next());
  }
}

TEST_CASE("a depth of nothing is refused") {
  CHECK_THROWS_WITH_AS(static_cast<void>(prefetch(make(), 0)), "depth is 0, expected at least 1", libra::input_error);
}
