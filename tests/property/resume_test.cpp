#include <libra/io/sampler_state_json.hpp>
#include <libra/sample/prefetch.hpp>
#include <libra/sample/sampler.hpp>
#include <libra/sample/state_bytes.hpp>
#include <support/printing.hpp>
#include <support/sampling.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

// A job that is killed and resumed anywhere, also on another number of ranks, sees the batches it would have seen.

namespace {

using libra::epoch_end;
using libra::layout;
using libra::sampler;
using libra::sampler_state;
using libra::span_lengths;
using libra::test::contents;
using libra::test::placed;

using batch_contents = std::vector<std::vector<libra::segment>>;

/// Layouts of the same global batch: 12 sequences of the same window.
layout twelve(std::int64_t window, std::size_t choice) {
  static constexpr std::array<std::array<std::int32_t, 4>, 5> choices{
      {{12, 1, 4, 1}, {4, 2, 4, 3}, {3, 5, 2, 4}, {6, 1, 1, 2}, {1, 3, 1, 12}}};  // dp, cp, pool, micro_steps
  auto const& [dp, cp, pool, steps] = choices[choice % choices.size()];
  return {.window_tokens = window, .dp = dp, .cp = cp, .pool = pool, .micro_steps = steps};
}

sampler_state through_bytes(sampler_state const& state) {
  std::string const bytes = to_bytes(state);
  return libra::state_from_bytes(std::as_bytes(std::span(bytes)));
}

/// A state as a checkpoint keeps it: as bytes or as JSON.
sampler_state through_checkpoint(sampler_state const& state, std::size_t step) {
  return step % 2 == 0 ? through_bytes(state) : libra::sampler_state_from_json(sampler_state_json(state));
}

TEST_CASE("killed and resumed at every step of a 200-step epoch, D changed on the way") {
  auto const lengths = libra::test::sample_lengths(10'800, 100, 3);
  for (epoch_end const at_end : {epoch_end::pad, epoch_end::drop, epoch_end::carry}) {
    CAPTURE(name_of(at_end));
    auto const job = [&](std::size_t choice) {
      return sampler(span_lengths(lengths), placed(), twelve(100, choice),
                     {.documents = {.seed = 8}, .at_end = at_end});
    };
    // An epoch, its end, and the beginning of the next.
    auto whole = job(0);
    std::vector<std::optional<batch_contents>> uninterrupted;
    for (int ends = 0; ends == 0 || uninterrupted.back();) {
      auto const batch = whole.next();
      uninterrupted.push_back(batch ? std::optional(contents(*batch)) : std::nullopt);
      ends += batch ? 0 : 1;
    }
    REQUIRE(uninterrupted.size() > 200);
    for (int more = 0; more < 5; ++more) uninterrupted.emplace_back(contents(*whole.next()));

    sampler_state state = job(0).state();
    for (std::size_t step = 0; step < uninterrupted.size(); ++step) {
      // Each step is another job, with another layout; every third works ahead and is killed before it yields that.
      std::optional<libra::global_batch> batch;
      if (step % 3 == 0) {
        libra::prefetch resumed(job(step), 2);
        resumed.restore(through_checkpoint(state, step));
        batch = resumed.next();
        state = resumed.state();
      } else {
        auto resumed = job(step);
        resumed.restore(through_checkpoint(state, step));
        batch = resumed.next();
        state = resumed.state();
      }
      REQUIRE(batch.has_value() == uninterrupted[step].has_value());
      if (batch) REQUIRE(contents(*batch) == *uninterrupted[step]);
    }
    CHECK(state == whole.state());
  }
}

TEST_CASE("a trainer that only keeps its counter of samples resumes at every step, D changed on the way") {
  auto const lengths = libra::test::sample_lengths(3'000, 100, 11);
  auto const job = [&](std::size_t choice) {
    return sampler(span_lengths(lengths), placed(), twelve(100, choice), {.documents = {.seed = 8}});
  };
  auto whole = job(0);
  std::int64_t consumed_samples = 0;  // what a checkpoint of Megatron-LM's keeps: D * M more after each step
  for (std::size_t step = 0; step < 70; ++step) {
    auto batch = whole.next();
    if (!batch) batch = whole.next();
    auto resumed = job(step);
    resumed.skip_to(consumed_samples);
    auto got = resumed.next();
    if (!got) got = resumed.next();
    REQUIRE(got.has_value());
    REQUIRE(got->epoch == batch->epoch);
    REQUIRE(contents(*got) == contents(*batch));
    REQUIRE(resumed.state() == whole.state());
    consumed_samples += 12;
  }
  CHECK(whole.position().epoch >= 1);
}

TEST_CASE("on the same layout plans are the same bit by bit, also when restored twice in one epoch") {
  auto const lengths = libra::test::sample_lengths(1'500, 100, 12);
  for (std::size_t choice = 0; choice < 5; ++choice) {
    auto const job = [&] { return sampler(span_lengths(lengths), placed(), twelve(100, choice)); };
    auto whole = job();
    std::vector<libra::global_batch> batches;
    std::vector<sampler_state> states{whole.state()};
    while (auto batch = whole.next()) {
      batches.push_back(std::move(*batch));
      states.push_back(whole.state());
    }
    REQUIRE(batches.size() > 20);
    auto resumed = job();
    for (std::size_t const from : {std::size_t{3}, std::size_t{17}, std::size_t{3}, batches.size() - 1}) {
      resumed.restore(through_bytes(states[from]));
      for (std::size_t i = from; i < std::min(from + 6, batches.size()); ++i) {
        auto const again = resumed.next();
        REQUIRE(again.has_value());
        REQUIRE(again->number == batches[i].number);
        REQUIRE(again->plan.packing == batches[i].plan.packing);
        REQUIRE(again->plan.placement == batches[i].plan.placement);
        REQUIRE(again->plan.fingerprint == batches[i].plan.fingerprint);
        REQUIRE(resumed.state() == states[i + 1]);
      }
    }
  }
}

TEST_CASE("random lists, layouts and interruptions, with and without prefetch") {
  libra::random_bits bits(9);
  for (int round = 0; round < 60; ++round) {
    std::int64_t const window = bits.between(10, 200);
    auto const lengths = libra::test::sample_lengths(bits.below(300) + 30, window, bits());
    libra::sampler_options const options{.documents = {.seed = bits(), .shuffle = bits.below(4) != 0},
                                         .at_end = bits.below(2) == 0 ? epoch_end::pad : epoch_end::carry};
    auto const job = [&] {
      return sampler(span_lengths(lengths), placed(), twelve(window, static_cast<std::size_t>(bits.below(5))), options);
    };
    auto whole = job();
    auto part = job();
    for (int step = 0; step < 40; ++step) {
      if (bits.below(3) == 0) {
        sampler_state const state = through_bytes(part.state());
        part = job();
        part.restore(state);
      }
      auto const expected = whole.next();
      std::optional<libra::global_batch> got;
      if (bits.below(8) == 0) {
        // The state of a job that works ahead does not count what it has not yielded.
        libra::prefetch ahead(job(), 2);
        ahead.restore(part.state());
        got = ahead.next();
        part.restore(ahead.state());
      } else {
        got = part.next();
      }
      REQUIRE(got.has_value() == expected.has_value());
      REQUIRE(part.state() == whole.state());
      if (expected) REQUIRE(contents(*got) == contents(*expected));
    }
  }
}

TEST_CASE("with another size of the global batch, every token still comes once an epoch") {
  libra::random_bits bits(10);
  for (int round = 0; round < 40; ++round) {
    auto const lengths = libra::test::sample_lengths(400, 50, bits());
    auto const job = [&](std::int32_t dp) {
      layout const l{.window_tokens = 50, .dp = dp, .cp = 1, .pool = 1, .micro_steps = 1};
      return sampler(span_lengths(lengths), placed(), l, {.documents = {.seed = 4}});
    };
    std::map<std::int64_t, std::int64_t> tokens;
    auto part = job(8);
    while (auto const batch = part.next()) {
      for (auto const& row : contents(*batch)) {
        for (libra::segment const& s : row) tokens[s.document.value] += s.length;
      }
      if (bits.below(3) != 0) continue;
      sampler_state const state = part.state();
      part = job(static_cast<std::int32_t>(bits.between(1, 12)));
      part.restore(state);
    }
    for (std::size_t d = 0; d < lengths.size(); ++d) {
      REQUIRE(tokens[static_cast<std::int64_t>(d)] == lengths[d]);
    }
  }
}

}  // namespace
