#include <libra/sample/sampler.hpp>

#include <libra/pack/balanced.hpp>
#include <libra/pack/in_order.hpp>
#include <libra/place/karmarkar_karp.hpp>
#include <libra/place/snake.hpp>
#include <libra/place/variance_reduced.hpp>
#include <support/printing.hpp>
#include <support/sampling.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

using libra::epoch_end;
using libra::global_batch;
using libra::layout;
using libra::sampler;
using libra::span_lengths;
using libra::test::contents;
using libra::test::placed;
using libra::test::plain;

namespace {

constexpr layout small{.window_tokens = 100, .dp = 4, .cp = 2, .pool = 2, .micro_steps = 2};

std::vector<std::int64_t> const& list() {
  static std::vector<std::int64_t> const lengths = libra::test::sample_lengths(400, 100, 1);
  return lengths;
}

}  // namespace

TEST_CASE("every slot of every micro-step gets one packed sequence of the batch") {
  sampler samples(span_lengths(list()), placed(), small);
  std::int64_t batches = 0;
  std::int64_t tokens = 0;
  std::int64_t expected = 0;
  for (std::int64_t const length : list()) expected += length;
  while (auto const batch = samples.next()) {
    CHECK(batch->epoch == 0);
    CHECK(batch->number == batches++);
    std::vector<std::int32_t> seen;
    std::int64_t batch_tokens = 0;
    std::int64_t targets = 0;
    for (std::int32_t step = 0; step < 2; ++step) {
      for (std::int32_t slot = 0; slot < 4; ++slot) {
        libra::packed_sequence const s = batch->at(step, slot);
        seen.push_back(s.id.value);
        batch_tokens += s.tokens();
        targets += s.targets();
      }
    }
    std::ranges::sort(seen);
    CHECK(seen == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(batch_tokens == batch->tokens());
    CHECK(targets == batch->targets());
    tokens += batch_tokens;
  }
  CHECK(batches > 5);
  CHECK(tokens == expected);
}

TEST_CASE("size is what is yielded, asked at any time") {
  for (epoch_end const end : {epoch_end::pad, epoch_end::drop, epoch_end::carry}) {
    sampler samples(span_lengths(list()), placed(), small, {.at_end = end});
    for (int epoch = 0; epoch < 3; ++epoch) {
      std::int64_t const before = samples.size();
      std::int64_t yielded = 0;
      while (samples.next()) {
        ++yielded;
        CHECK(samples.size() == before);
        sampler other(span_lengths(list()), placed(), small, {.at_end = end});
        other.restore(samples.state());
        CHECK(other.size() == before);
      }
      CHECK(yielded == before);
    }
  }
}

TEST_CASE("placement only permutes: batches hold what they hold without it, and the same certificates") {
  sampler with(span_lengths(list()), placed(), small);
  sampler without(span_lengths(list()), plain(), small);
  bool moved = false;
  while (true) {
    std::optional<global_batch> const a = with.next();
    std::optional<global_batch> const b = without.next();
    REQUIRE(a.has_value() == b.has_value());
    if (!a) break;
    CHECK(contents(*a) == contents(*b));
    CHECK(a->plan.certificate.lower_bound == b->plan.certificate.lower_bound);
    moved = moved || a->plan.placement.at != b->plan.placement.at;
  }
  CHECK(moved);
}

namespace {

using sample = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // document, offset, length

/// What the slots of all micro-steps hold.
std::multiset<sample> samples_in(global_batch const& batch) {
  std::multiset<sample> all;
  for (std::int32_t step = 0; step < batch.plan.layout.micro_steps; ++step) {
    for (std::int32_t slot = 0; slot < batch.plan.layout.dp; ++slot) {
      for (libra::segment const& s : batch.at(step, slot).segments) {
        all.emplace(s.document.value, s.offset, s.length);
      }
    }
  }
  return all;
}

/// Checks two epochs against the packer alone, cut into batches without any scheduler.
template <class Packer, class Placer>
void check_same_batches(Packer packer, Placer placer) {
  CAPTURE(Packer::name);
  CAPTURE(Placer::name);
  libra::stream_options const documents{.seed = 5};
  libra::scheduler const planner{packer, libra::fixed_size{}, placer, libra::ulysses{}, libra::pair_count{}};
  sampler samples(span_lengths(list()), planner, small, {.documents = documents});
  span_lengths const source(list());
  auto const pack = [&](std::span<std::int64_t const> lengths) { return packer(lengths, small.window_tokens); };
  libra::batch_cutter<span_lengths, decltype(pack)> alone(source, pack, small.window_tokens,
                                                          small.sequences_per_batch(), documents, epoch_end::pad);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (;;) {
      auto const batch = samples.next();
      auto const expected = alone.next();
      REQUIRE(batch.has_value() == expected.has_value());
      if (!batch) break;
      std::multiset<sample> all;
      for (libra::segment const& s : expected->sequences.values()) all.emplace(s.document.value, s.offset, s.length);
      REQUIRE(samples_in(*batch) == all);
    }
  }
}

}  // namespace

TEST_CASE("whatever places them, the samples of a batch are those that the packer alone puts there") {
  check_same_batches(libra::best_fit_decreasing{}, libra::snake{});
  check_same_batches(libra::best_fit_decreasing{}, libra::karmarkar_karp{});
  check_same_batches(libra::best_fit_decreasing{}, libra::variance_reduced{});
  check_same_batches(libra::balanced{}, libra::longest_first{});
  check_same_batches(libra::in_order{}, libra::longest_first{});
}

TEST_CASE("an incomplete last batch gives every rank its steps, with empty sequences") {
  std::vector<std::int64_t> const lengths{60, 70};
  sampler samples(span_lengths(lengths), placed(), small);
  CHECK(samples.size() == 1);
  auto const batch = samples.next();
  REQUIRE(batch.has_value());
  CHECK(batch->plan.placement.at.size() == 8);
  int empty = 0;
  for (std::int32_t step = 0; step < 2; ++step) {
    for (std::int32_t slot = 0; slot < 4; ++slot) {
      libra::packed_sequence const s = batch->at(step, slot);
      if (s.segments.empty()) {
        ++empty;
        CHECK(s.tokens() == 0);
        CHECK(s.targets() == 0);
        CHECK(s.cu_seqlens() == std::vector<std::int32_t>{0});
      }
    }
  }
  CHECK(empty == 6);
  // Its pools can be dispatched and lowered like any other.
  for (std::int32_t step = 0; step < 2; ++step) {
    for (std::int32_t pool = 0; pool < 2; ++pool) {
      auto const planned = samples.planner().plan_pool(batch->plan, libra::micro_step_id(step), libra::pool_id(pool));
      CHECK(planned.batch.slots == 2);
    }
  }
  CHECK(!samples.next().has_value());
}

TEST_CASE("segments are arranged for their homes, and stay as packed where that is off") {
  std::vector<std::int64_t> const lengths{40, 30, 20, 10};
  layout const one{.window_tokens = 100, .dp = 1, .cp = 2, .pool = 1, .micro_steps = 1};
  libra::sampler_options options{.documents = {.shuffle = false}};
  sampler arranged(span_lengths(lengths), plain(), one, options);
  options.planning.arrange = false;
  sampler as_packed(span_lengths(lengths), plain(), one, options);
  auto const cu = [](auto& samples) { return samples.next()->sequence(libra::sequence_id(0)).cu_seqlens(); };
  CHECK(cu(arranged) == std::vector<std::int32_t>{0, 40, 50, 80, 100});
  CHECK(cu(as_packed) == std::vector<std::int32_t>{0, 40, 70, 90, 100});
}

TEST_CASE("a packer that cuts documents anywhere") {
  libra::scheduler const planner{libra::in_order{}, libra::fixed_size{}, libra::longest_first{}, libra::ulysses{},
                                 libra::pair_count{}};
  sampler samples(span_lengths(list()), planner, small);
  std::int64_t last = 0;
  while (auto const batch = samples.next()) {
    CHECK(last == 0);  // only the last batch has padding
    last = batch->plan.packing.padding_tokens();
  }
}

TEST_CASE("trainers that only count packed sequences go on") {
  sampler samples(span_lengths(list()), placed(), small);
  std::int64_t yielded = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    while (auto const batch = samples.next()) {
      yielded += 8;
      CHECK(samples.position().consumed_sequences == yielded);
      sampler other(span_lengths(list()), placed(), small);
      other.skip_to(yielded);
      CHECK(other.state() == samples.state());
    }
  }
  sampler other(span_lengths(list()), placed(), small);
  CHECK_THROWS_WITH_AS(other.skip_to(12), "consumed_sequences is 12, expected a multiple of dp * micro_steps = 8",
                       libra::input_error);
}

TEST_CASE("what is thrown leaves the sampler as it was") {
  std::vector<std::int64_t> lengths(40, 50);
  lengths[30] = -1;
  sampler samples(span_lengths(lengths), placed(), small, {.documents = {.shuffle = false}});
  CHECK(samples.next().has_value());
  auto const before = samples.position();
  for (int again = 0; again < 2; ++again) {
    CHECK_THROWS_WITH_AS(static_cast<void>(samples.next()), "length of document 30 is -1, expected at least 0",
                         libra::input_error);
    CHECK(samples.position() == before);
  }
  lengths[30] = 1;
  CHECK(samples.next().has_value());
}

TEST_CASE("a layout, an option or a place that there is not") {
  layout wrong = small;
  wrong.pool = 5;
  CHECK_THROWS_AS(static_cast<void>(sampler(span_lengths(list()), placed(), wrong)), libra::input_error);
  libra::sampler_options options;
  options.planning.waves = -1;
  CHECK_THROWS_AS(static_cast<void>(sampler(span_lengths(list()), placed(), small, options)), libra::input_error);
  sampler samples(span_lengths(list()), placed(), small);
  auto const batch = samples.next();
  CHECK_THROWS_WITH_AS(static_cast<void>(batch->at(2, 0)), "micro-step is 2, expected 0 to 1", libra::input_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(batch->at(0, 4)), "slot is 4, expected 0 to 3", libra::input_error);
}
