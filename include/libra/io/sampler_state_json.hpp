#pragma once

#include <libra/core/digest.hpp>
#include <libra/core/error.hpp>
#include <libra/io/in_quotes.hpp>
#include <libra/io/json_writer.hpp>
#include <libra/sample/state.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace libra {

/// A sampler's state as a JSON object.
///
/// `libra_sampler` is its version; `rest` and `carried` hold runs of tokens as [document, offset, length].
[[nodiscard]] inline std::string sampler_state_json(sampler_state const& state) {
  std::string text;
  json_writer json(text);
  json.object([&] {
    json.member("libra_sampler", state.version);
    json.member("documents", state.stream.documents);
    json.member("lengths", to_hex(state.stream.lengths));
    json.member("seed", state.stream.seed);
    json.member("shuffle", state.stream.shuffle);
    json.member("window", state.stream.window_tokens);
    json.member("packer", state.stream.packer);
    json.member("overlong", name_of(state.stream.when_overlong));
    json.member("epoch_end", name_of(state.stream.at_end));
    json.member("epoch", state.position.epoch);
    json.member("batch", state.position.batch);
    json.member("consumed_samples", state.position.consumed_samples);
    json.member("consumed_sequences", state.position.consumed_sequences);
    segment const& rest = state.position.rest;
    json.row_member("rest", rest.document.value, rest.offset, rest.length);
    json.array("carried", [&] {
      for (segment const& s : state.position.carried) json.row(s.document.value, s.offset, s.length);
    });
  });
  return text;
}

namespace detail {

/// Reads the fields of a sampler's state; every message names the field.
class state_json_reader {
 public:
  using json = nlohmann::json;

  explicit state_json_reader(std::string_view text) : document_(parsed(text)) {
    require(document_.is_object(), "sampler state: is ", shown(document_), ", expected an object");
  }

  [[nodiscard]] sampler_state read() const {
    sampler_state state;
    // First, since fields of another version may be others.
    state.version = integer<std::uint32_t>("libra_sampler");
    require(state.version == sampler_state::current_version, "sampler state: libra_sampler is ", state.version,
            ", expected version ", sampler_state::current_version);
    state.stream = {
        .documents = integer<std::int64_t>("documents"),
        .lengths = hex("lengths"),
        .seed = integer<std::uint64_t>("seed"),
        .shuffle = truth("shuffle"),
        .window_tokens = integer<std::int64_t>("window"),
        .packer = text("packer"),
        .when_overlong = choice("overlong", std::array{overlong::split, overlong::truncate, overlong::reject}),
        .at_end = choice("epoch_end", std::array{epoch_end::pad, epoch_end::drop, epoch_end::carry})};
    state.position = {.epoch = integer<std::int64_t>("epoch"),
                      .batch = integer<std::int64_t>("batch"),
                      .consumed_samples = integer<std::int64_t>("consumed_samples"),
                      .consumed_sequences = integer<std::int64_t>("consumed_sequences"),
                      .rest = run("rest", field("rest")),
                      .carried = {}};
    json const& carried = field("carried");
    require(carried.is_array(), "sampler state: carried is ", shown(carried), ", expected an array");
    for (json const& one : carried) state.position.carried.push_back(run("carried", one));
    return state;
  }

 private:
  [[nodiscard]] static json parsed(std::string_view text) {
    try {
      return json::parse(text);
    } catch (json::parse_error const& e) {
      throw input_error(
          message("sampler state: is no JSON at byte ", e.byte == 0 ? 0 : e.byte - 1, ", expected an object"));
    } catch (json::out_of_range const&) {  // the parser's word for 1e999
      throw input_error("sampler state: holds a number beyond a double's range, expected integers of 64 bits");
    }
  }
  [[nodiscard]] static std::string shown(json const& value) {
    // Not its text: that is written by recursion, however deep the value is.
    if (value.is_structured()) return value.is_object() ? "an object" : message("an array of ", value.size());
    return in_quotes(value.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  [[nodiscard]] json const& field(std::string_view name) const {
    auto const found = document_.find(name);
    require(found != document_.end(), "sampler state: ", name, " is missing");
    return *found;
  }
  template <class Integer>
  [[nodiscard]] static Integer integer(std::string_view name, json const& value) {
    bool fits = value.is_number_unsigned() || (value.is_number_integer() && std::is_signed_v<Integer>);
    if (fits && value.is_number_unsigned()) {
      fits = value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<Integer>::max());
    }
    require(fits, "sampler state: ", name, " is ", shown(value), ", expected an integer of ", 8 * sizeof(Integer),
            " bits");
    return value.get<Integer>();
  }
  template <class Integer>
  [[nodiscard]] Integer integer(std::string_view name) const {
    return integer<Integer>(name, field(name));
  }
  [[nodiscard]] bool truth(std::string_view name) const {
    json const& value = field(name);
    require(value.is_boolean(), "sampler state: ", name, " is ", shown(value), ", expected true or false");
    return value.get<bool>();
  }
  [[nodiscard]] std::string text(std::string_view name) const {
    json const& value = field(name);
    require(value.is_string(), "sampler state: ", name, " is ", shown(value), ", expected a text");
    return value.get<std::string>();
  }
  [[nodiscard]] digest hex(std::string_view name) const {
    std::string const digits = text(name);
    digest value;
    auto const part = [&](std::size_t from, std::uint64_t& word) {
      char const* const end = digits.data() + from + 16;
      return std::from_chars(digits.data() + from, end, word, 16).ptr == end;
    };
    require(digits.size() == 32 && part(0, value.high) && part(16, value.low), "sampler state: ", name, " is ",
            in_quotes(digits), ", expected 32 hexadecimal digits");
    return value;
  }
  template <class Enum>
  [[nodiscard]] Enum choice(std::string_view name, std::array<Enum, 3> const& choices) const {
    std::string const chosen = text(name);
    std::string expected;
    for (Enum const one : choices) {
      if (name_of(one) == chosen) return one;
      expected += (expected.empty() ? "" : ", ") + std::string(name_of(one));
    }
    throw input_error(message("sampler state: ", name, " is ", in_quotes(chosen), ", expected one of ", expected));
  }
  [[nodiscard]] static segment run(std::string_view name, json const& value) {
    require(value.is_array() && value.size() == 3, "sampler state: ", name, " is ", shown(value),
            ", expected [document, offset, length]");
    return {document_id(integer<std::int64_t>(name, value[0])), integer<std::int64_t>(name, value[1]),
            integer<std::int64_t>(name, value[2])};
  }

  json document_;
};

}  // namespace detail

/// The state that `sampler_state_json` wrote. Unknown members are passed over.
///
/// Errors: `input_error` naming the field, its value and what was expected, and the byte of a text that is no JSON.
[[nodiscard]] inline sampler_state sampler_state_from_json(std::string_view text) {
  return detail::state_json_reader(text).read();
}

}  // namespace libra
