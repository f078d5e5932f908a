#pragma once

#include <libra/core/wide.hpp>

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace libra {

/// Appends one JSON document to a text, member by member, in the order of the calls.
///
/// Unlike a tree of values it needs no memory per value, so that millions of tiles can be written, and it writes
/// integers of any width as plain digits. Objects and arrays are filled by callables, which balances them by
/// construction. Objects and arrays of arrays take a line per element; arrays of scalars stay on one line.
///
/// Doubles are written with as many digits as identify them (17 at most); one that is not finite becomes null.
/// Pre: members only inside objects, elements only inside arrays, one top-level value.
///
/// Example:
///     json_writer json(text);
///     json.object([&] { json.member("tokens", 7); json.array("rows", [&] { json.row(1, 2); json.row(3, 4); }); });
class json_writer {
 public:
  explicit json_writer(std::string& out) : out_(&out) {}

  /// An object as the document or as an array's element.
  template <std::invocable Fill>
  void object(Fill fill) {
    begin_element(true);
    nested('{', '}', fill);
  }
  /// An object as a member.
  template <std::invocable Fill>
  void object(std::string_view key, Fill fill) {
    begin_member(key);
    nested('{', '}', fill);
  }
  /// An array as the document or as an array's element.
  template <std::invocable Fill>
  void array(Fill fill) {
    begin_element(true);
    nested('[', ']', fill);
  }
  /// An array as a member.
  template <std::invocable Fill>
  void array(std::string_view key, Fill fill) {
    begin_member(key);
    nested('[', ']', fill);
  }

  /// A scalar member: text, an integer, a floating-point number, a truth value or null (nullptr).
  template <class T>
  void member(std::string_view key, T const& value) {
    begin_member(key);
    scalar(value);
  }
  /// A scalar element.
  template <class T>
  void element(T const& value) {
    begin_element(false);
    scalar(value);
  }
  /// An array of scalars as an array's element.
  template <class... T>
  void row(T const&... values) {
    begin_element(true);
    inline_array(values...);
  }
  /// An array of scalars as a member.
  template <class... T>
  void row_member(std::string_view key, T const&... values) {
    begin_member(key);
    inline_array(values...);
  }

 private:
  template <class Fill>
  void nested(char open, char close, Fill& fill) {
    state const outer = state_;
    state_ = {outer.depth + 1, true, false};
    *out_ += open;
    fill();
    bool const lines = state_.lines;
    state_ = outer;
    if (lines) new_line();
    *out_ += close;
    if (state_.depth == 0) *out_ += '\n';
  }

  template <class... T>
  void inline_array(T const&... values) {
    *out_ += '[';
    std::size_t left = sizeof...(T);
    ((scalar(values), *out_ += --left == 0 ? "" : ","), ...);
    *out_ += ']';
  }

  void begin_member(std::string_view key) {
    begin_element(true);
    text(key);
    *out_ += ": ";
  }
  void begin_element(bool own_line) {
    if (!state_.first) *out_ += ',';
    if (own_line && state_.depth > 0) {
      state_.lines = true;
      new_line();
    } else if (!state_.first) {
      *out_ += ' ';
    }
    state_.first = false;
  }
  void new_line() {
    *out_ += '\n';
    out_->append(state_.depth, ' ');
  }

  template <class T>
  void scalar(T const& value) {
    if constexpr (std::is_same_v<T, bool>) {
      *out_ += value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
      *out_ += "null";
    } else if constexpr (std::integral<T> && sizeof(T) <= 8) {
      static_assert(!std::is_same_v<T, char>, "a character is neither a number nor a text");
      char digits[24];
      out_->append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    } else if constexpr (std::is_same_v<T, int128>) {
      *out_ += to_string(value);
    } else if constexpr (std::floating_point<T>) {
      number(static_cast<double>(value));
    } else {
      text(std::string_view(value));
    }
  }

  void number(double value) {
    if (!std::isfinite(value)) {
      *out_ += "null";
      return;
    }
    char digits[32];
    char const* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    std::string_view const shortest(digits, static_cast<std::size_t>(end - digits));
    *out_ += shortest;
    // Readers that tell integers from numbers shall see one type whatever the value.
    if (shortest.find_first_of(".e") == std::string_view::npos) *out_ += ".0";
  }

  void text(std::string_view value) {
    *out_ += '"';
    for (char const c : value) {
      auto const byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        *out_ += '\\';
        *out_ += c;
      } else if (byte < 0x20) {
        *out_ += "\\u00";
        *out_ += "0123456789abcdef"[byte >> 4];
        *out_ += "0123456789abcdef"[byte & 15];
      } else {
        *out_ += c;
      }
    }
    *out_ += '"';
  }

  struct state {
    std::size_t depth{0};
    bool first{true};   ///< nothing written at this level yet
    bool lines{false};  ///< elements of this level are on lines of their own
  };
  std::string* out_;
  state state_{};
};

}  // namespace libra
