#include <libra/sample/state_bytes.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

using libra::document_id;
using libra::sampler_state;

namespace {

sampler_state example() {
  return {.stream = {.documents = 50,
                     .lengths = {1, 2},
                     .seed = UINT64_MAX,
                     .shuffle = false,
                     .window_tokens = 100,
                     .packer = "best_fit_decreasing",
                     .when_overlong = libra::overlong::truncate,
                     .at_end = libra::epoch_end::carry},
          .position = {.epoch = 3,
                       .batch = 4,
                       .consumed_samples = 180,
                       .consumed_sequences = 64,
                       .rest = {document_id(5), 100, 200},
                       .carried = {{document_id(7), 0, 3}, {document_id(8), 9, 4}}}};
}

sampler_state read(std::string_view bytes) {
  return libra::state_from_bytes(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

std::string refusal(std::string_view bytes) {
  try {
    static_cast<void>(read(bytes));
  } catch (libra::input_error const& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("what is written is read") {
  CHECK(read(to_bytes(example())) == example());
  CHECK(read(to_bytes(sampler_state{})) == sampler_state{});
  CHECK(to_bytes(example()).size() < 256);
}

TEST_CASE("a damaged state is refused, whichever bit it is") {
  std::string const good = to_bytes(example());
  for (std::size_t i = 0; i < good.size(); ++i) {
    CAPTURE(i);
    CHECK(refusal(good.substr(0, i)).starts_with("sampler state: byte "));
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 16);
    CHECK(refusal(bad).starts_with("sampler state: byte "));
  }
  CHECK(refusal("") == "sampler state: byte 0: magic is none, expected 'LIBRASMP'");
  sampler_state other = example();
  other.version = 2;
  CHECK(refusal(to_bytes(other)) == "sampler state: byte 8: version is 2, expected 1");
}

TEST_CASE("an intact digest does not make a state of nonsense") {
  // The number of carried runs is 8 bytes before the two runs of 24 and the digest of 16.
  std::string bytes = to_bytes(example());
  std::string body = bytes.substr(0, bytes.size() - 16);
  body.replace(body.size() - 48 - 8, 8, "\xff\xff\xff\xff\xff\xff\xff\xff");
  libra::digest const sum = libra::hasher().add(std::string_view(body)).finish();
  libra::append_little_endian(body, sum.high);
  libra::append_little_endian(body, sum.low);
  CHECK(refusal(body).find("carried holds 18446744073709551615 entries, but only 48 bytes follow") !=
        std::string::npos);
}
