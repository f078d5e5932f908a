#include <libra/sample/state.hpp>

#include <support/sampling.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

using libra::epoch_end;
using libra::layout;
using libra::sampler;
using libra::sampler_state;
using libra::span_lengths;
using libra::test::placed;

namespace {

constexpr layout small{.window_tokens = 100, .dp = 2, .cp = 1, .pool = 2, .micro_steps = 2};

std::string refusal(sampler_state const& state, std::vector<std::int64_t> const& lengths,
                    libra::sampler_options const& options = {}, layout const& l = small) {
  sampler samples(span_lengths(lengths), placed(), l, options);
  static_cast<void>(samples.next());
  sampler_state const before = samples.state();
  try {
    samples.restore(state);
  } catch (libra::input_error const& e) {
    CHECK(samples.state() == before);
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a state of another stream is refused with the field that differs") {
  std::vector<std::int64_t> const lengths(50, 30);
  sampler samples(span_lengths(lengths), placed(), small);
  static_cast<void>(samples.next());
  sampler_state const state = samples.state();
  CHECK(refusal(state, lengths) == "accepted");

  CHECK(refusal(state, std::vector<std::int64_t>(51, 30)) == "sampler state: documents is 50, expected 51");
  std::vector<std::int64_t> other = lengths;
  other[49] = 31;
  CHECK(refusal(state, other).starts_with("sampler state: digest of the lengths is "));
  CHECK(refusal(state, lengths, {.documents = {.seed = 5}}) == "sampler state: seed is 0, expected 5");
  CHECK(refusal(state, lengths, {.documents = {.shuffle = false}}) == "sampler state: shuffle is 1, expected 0");
  CHECK(refusal(state, lengths, {.documents = {.when_overlong = libra::overlong::truncate}}) ==
        "sampler state: overlong is split, expected truncate");
  CHECK(refusal(state, lengths, {.at_end = epoch_end::drop}) == "sampler state: epoch_end is pad, expected drop");
  layout wider = small;
  wider.window_tokens = 200;
  CHECK(refusal(state, lengths, {}, wider) == "sampler state: window is 100, expected 200");
  sampler_state changed = state;
  changed.version = 2;
  CHECK(refusal(changed, lengths) == "sampler state: version is 2, expected 1");
  changed = state;
  changed.stream.packer = "in_order";
  CHECK(refusal(changed, lengths) == "sampler state: packer is in_order, expected best_fit_decreasing");
}

TEST_CASE("a position that no sampler can have is refused") {
  std::vector<std::int64_t> const lengths(50, 30);
  sampler_state const state = sampler(span_lengths(lengths), placed(), small).state();
  auto const with = [&](std::function<void(libra::sample_position&)> const& change) {
    sampler_state changed = state;
    change(changed.position);
    return refusal(changed, lengths);
  };
  using position = libra::sample_position;
  CHECK(with([](position& p) { p.epoch = -1; }) == "sampler state: epoch is -1, expected at least 0");
  CHECK(with([](position& p) { p.consumed_samples = 51; }) ==
        "sampler state: consumed_samples is 51, expected at most 50, the documents of 0 epochs and one");
  CHECK(with([](position& p) { p.consumed_samples = 50; }) == "accepted");
  CHECK(with([](position& p) { p.epoch = 1; }) ==
        "sampler state: consumed_samples is 0, expected at least 50, the documents of 1 epochs");
  CHECK(with([](position& p) { p.rest = {libra::document_id(50), 0, 1}; }) ==
        "sampler state: rest entry 0 is document 50, expected 0 to 49");
  CHECK(with([](position& p) { p.carried = {{libra::document_id(-1), 0, 1}}; }) ==
        "sampler state: carried entry 0 is document -1, expected 0 to 49");
  CHECK(with([](position& p) { p.carried = {{libra::document_id(1), -1, 1}}; }) ==
        "sampler state: carried entry 0 is 1 tokens from token -1, expected at least 0");
  CHECK(with([](position& p) { p.carried = {{libra::document_id(1), 0, 101}}; }) ==
        "sampler state: carried entry 0 has 101 tokens, expected 1 to the window of 100");
  CHECK(with([](position& p) { p.epoch = INT64_MAX; }) ==
        "sampler state: epoch is 9223372036854775807, expected at most 4611686018427387904");
  CHECK(with([](position& p) { p.consumed_sequences = INT64_MAX; }) ==
        "sampler state: consumed_sequences is 9223372036854775807, expected at most 4611686018427387904");
  CHECK(with([](position& p) { p.carried = {{libra::document_id(1), 0, 31}}; }) ==
        "sampler state: carried entry 0 is 31 tokens from token 0 of document 1, which has 30");
  CHECK(with([](position& p) { p.carried = {{libra::document_id(1), INT64_MAX, 2}}; }) ==
        "sampler state: carried entry 0 is 2 tokens from token 9223372036854775807 of document 1, which has 30");
  CHECK(with([](position& p) { p.rest = {libra::document_id(1), 10, INT64_MAX}; }) ==
        "sampler state: rest entry 0 is 9223372036854775807 tokens from token 10 of document 1, which has 30");
  CHECK(with([](position& p) { p.rest = {libra::document_id(1), 10, 20}; }) == "accepted");
}

TEST_CASE("of a truncated document only its first window can be on the way") {
  std::vector<std::int64_t> lengths(50, 30);
  lengths[3] = 130;
  libra::sampler_options const options{.documents = {.when_overlong = libra::overlong::truncate}};
  sampler_state state = sampler(span_lengths(lengths), placed(), small, options).state();
  state.position.carried = {{libra::document_id(3), 0, 100}};
  CHECK(refusal(state, lengths, options) == "accepted");
  state.position.carried = {{libra::document_id(3), 100, 30}};
  CHECK(refusal(state, lengths, options) ==
        "sampler state: carried entry 0 is 30 tokens from token 100 of document 3, which has 100");
}
