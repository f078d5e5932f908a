#pragma once

#include <libra/core/error.hpp>
#include <libra/io/in_quotes.hpp>
#include <libra/io/length_list.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace libra {
namespace detail {

/// Takes one member of a JSON object from the parser's events, so that texts beside it are never stored.
class jsonl_field {
 public:
  enum class state : std::uint8_t { missing, found, no_integer, too_large, twice, no_object, no_json };

  explicit jsonl_field(std::string_view name) noexcept : name_(name) {}

  [[nodiscard]] state outcome() const noexcept { return state_; }
  [[nodiscard]] std::int64_t value() const noexcept { return value_; }
  /// What stands in place of an integer.
  [[nodiscard]] std::string const& shown() const noexcept { return shown_; }
  /// Byte of the line at which it stops being JSON, from 0.
  [[nodiscard]] std::size_t stopped_at() const noexcept { return stopped_at_; }

  // The parser's interface (nlohmann::json_sax).
  bool null() { return other("null"); }
  bool boolean(bool value) { return other(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return integer(value); }
  bool number_unsigned(std::uint64_t value) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return value <= most ? integer(static_cast<std::int64_t>(value)) : large(std::to_string(value));
  }
  bool number_float(double, std::string const& text) {
    // An integer beyond 64 bits arrives here too.
    return text.find_first_of(".eE") == std::string::npos ? large(text) : other(text);
  }
  bool string(std::string const& text) { return other('"' + text.substr(0, 40) + '"'); }
  template <class Binary>
  bool binary(Binary const&) {
    return other("binary data");
  }
  bool start_object(std::size_t) { return open("an object"); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open("an array"); }
  bool end_array() { return close(); }
  bool key(std::string const& name) {
    if (depth_ == 1 && name == name_) {
      if (state_ != state::missing) return stop(state::twice);
      wanted_ = true;
    }
    return true;
  }
  template <class Error>
  bool parse_error(std::size_t position, std::string const&, Error const&) {
    stopped_at_ = position == 0 ? 0 : position - 1;
    return stop(state::no_json);
  }

 private:
  bool stop(state why) {
    state_ = why;
    return false;
  }
  bool open(char const* what) {
    if (depth_ == 0 && what != std::string_view("an object")) return stop(state::no_object);
    if (wanted_ && !other(what)) return false;
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }
  /// A value that is no integer: an error only where the length should be.
  bool other(std::string const& text) {
    if (depth_ == 0 && !wanted_) return stop(state::no_object);
    if (!wanted_) return true;
    shown_ = text;
    return stop(state::no_integer);
  }
  bool large(std::string const& text) {
    if (!wanted_) return other(text);
    shown_ = text;
    return stop(state::too_large);
  }
  bool integer(std::int64_t value) {
    if (!wanted_) return other({});
    wanted_ = false;
    state_ = state::found;
    value_ = value;
    return true;
  }

  std::string_view name_;
  state state_{state::missing};
  bool wanted_{false};
  std::int64_t depth_{0};
  std::int64_t value_{};
  std::string shown_;
  std::size_t stopped_at_{};
};

}  // namespace detail

/// Appends the lengths in JSONL text: one object a line, whose member `options.field` is the length of a document.
///
/// Other members may be anything; blank lines are skipped. `name` stands for the text in messages. Complexity: linear.
/// Errors: `input_error` naming the line, the value and what was expected: no JSON, no object, no such field or two
/// of them, a value that is no positive integer below 2^63 (or zero, with `skip_empty`); and an unnamed field.
inline void append_jsonl_lengths(std::string_view text, std::string_view name, length_options const& options,
                                 length_list& list) {
  std::string_view const field = options.field;
  require(!field.empty(), name, ": is JSONL, expected the name of the field that holds the lengths (--field)");
  detail::line_reader lines(text);
  while (lines.next()) {
    std::string_view const line = detail::trimmed(lines.line());
    if (line.empty()) continue;
    detail::jsonl_field member(field);
    nlohmann::json::sax_parse(line.begin(), line.end(), &member);

    auto const place = [&] { return message(name, ":", lines.number()); };
    using state = detail::jsonl_field::state;
    state const found = member.outcome();
    require(found != state::no_json, place(), ": is no JSON at ",
            in_quotes(line.substr(std::min(line.size(), member.stopped_at()), 20)), ", expected one object a line");
    require(found != state::no_object, place(), ": is ", in_quotes(line), ", expected one object a line");
    require(found != state::missing, place(), ": field ", in_quotes(field), " is missing, expected an integer");
    require(found != state::twice, place(), ": field ", in_quotes(field), " is there twice, expected it once");
    require(found != state::too_large, place(), ": length is ", in_quotes(member.shown()),
            ", beyond 64 bits; expected an integer from 1 to 9223372036854775807");
    require(found == state::found, place(), ": length is ", in_quotes(member.shown()), ", expected an integer");
    append_length(member.value(), options, list, place);
  }
}

}  // namespace libra
