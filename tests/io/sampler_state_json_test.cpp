#include <libra/io/sampler_state_json.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

using libra::document_id;
using libra::sampler_state;

namespace {

sampler_state example() {
  return {.stream = {.documents = 50,
                     .lengths = {1, UINT64_MAX},
                     .seed = UINT64_MAX,
                     .window_tokens = 100,
                     .packer = "best_fit_decreasing"},
          .position = {.epoch = 3,
                       .batch = 4,
                       .consumed_samples = 180,
                       .consumed_sequences = 64,
                       .rest = {document_id(5), 100, 200},
                       .carried = {{document_id(7), 0, 3}, {document_id(8), 9, 4}}}};
}

std::string refusal(std::string_view text) {
  try {
    static_cast<void>(libra::sampler_state_from_json(text));
  } catch (libra::input_error const& e) {
    return e.what();
  }
  return "accepted";
}

template <class Value>
std::string refusal_with(char const* field, Value const& value) {
  auto document = nlohmann::json::parse(sampler_state_json(example()));
  document[field] = value;
  return refusal(document.dump());
}

}  // namespace

TEST_CASE("what is written is read") {
  CHECK(libra::sampler_state_from_json(sampler_state_json(example())) == example());
  CHECK(libra::sampler_state_from_json(sampler_state_json(sampler_state{})) == sampler_state{});
  auto const document = nlohmann::json::parse(sampler_state_json(example()));
  CHECK(document["consumed_samples"] == 180);
  CHECK(document["carried"][1][2] == 4);
}

TEST_CASE("what is wrong is named with its field") {
  CHECK(refusal("{") == "sampler state: is no JSON at byte 1, expected an object");
  CHECK(refusal("[1]") == "sampler state: is an array of 1, expected an object");
  CHECK(refusal("5") == "sampler state: is '5', expected an object");
  CHECK(refusal("{\"seed\": 1e999}") ==
        "sampler state: holds a number beyond a double's range, expected integers of 64 bits");
  CHECK(refusal("{}") == "sampler state: libra_sampler is missing");
  CHECK(refusal_with("libra_sampler", 2) == "sampler state: libra_sampler is 2, expected version 1");
  CHECK(refusal_with("epoch", 1.5) == "sampler state: epoch is '1.5', expected an integer of 64 bits");
  CHECK(refusal_with("epoch", UINT64_MAX) ==
        "sampler state: epoch is '18446744073709551615', expected an integer of 64 bits");
  CHECK(refusal_with("seed", -1) == "sampler state: seed is '-1', expected an integer of 64 bits");
  CHECK(refusal_with("shuffle", 1) == "sampler state: shuffle is '1', expected true or false");
  CHECK(refusal_with("packer", nullptr) == "sampler state: packer is 'null', expected a text");
  CHECK(refusal_with("lengths", "12") == "sampler state: lengths is '12', expected 32 hexadecimal digits");
  CHECK(refusal_with("lengths", std::string(31, '0') + "g").find("hexadecimal") != std::string::npos);
  CHECK(refusal_with("overlong", "keep") ==
        "sampler state: overlong is 'keep', expected one of split, truncate, reject");
  CHECK(refusal_with("epoch_end", "pads") == "sampler state: epoch_end is 'pads', expected one of pad, drop, carry");
  CHECK(refusal_with("rest", 5) == "sampler state: rest is '5', expected [document, offset, length]");
  CHECK(refusal_with("carried", 5) == "sampler state: carried is '5', expected an array");
  CHECK(refusal_with("carried", nlohmann::json::parse("[[1, 2]]")) ==
        "sampler state: carried is an array of 2, expected [document, offset, length]");
  CHECK(refusal_with("carried", nlohmann::json::parse("[[1, 2, \"3\"]]")).find("expected an integer") !=
        std::string::npos);
}
