#pragma once

#include <libra/core/error.hpp>
#include <libra/io/in_quotes.hpp>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace libra {

/// Document lengths as they were given, and what was noticed on the way.
struct length_list {
  /// Shape: `[documents]`. Units: tokens. Zero only where empty documents were allowed.
  std::vector<std::int64_t> lengths;
  std::int64_t empty_documents{};

  friend bool operator==(length_list const&, length_list const&) = default;
};

/// What a reader of lengths lets pass.
struct length_options {
  /// Empty documents are kept, as zeros, and counted instead of refused.
  bool skip_empty{false};
};

namespace detail {

[[nodiscard]] constexpr bool is_blank(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

[[nodiscard]] constexpr std::string_view without_byte_order_mark(std::string_view text) noexcept {
  return text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;
}

/// The number that `text` is, all of it. Errors: `input_error` saying why it is none, at `place`.
[[nodiscard]] inline std::int64_t length_from(std::string_view text, std::string const& place) {
  std::int64_t value{};
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const whole = end == text.data() + text.size();
  require(code != std::errc::result_out_of_range || !whole, place, ": length is ", in_quotes(text),
          ", beyond 64 bits; expected an integer from 1 to 9223372036854775807");
  require(code == std::errc{} && whole, place, ": length is ", in_quotes(text), ", expected one integer a line");
  return value;
}

}  // namespace detail

/// Appends the lengths in `text`: one integer a line; blank lines and what follows a `#` are skipped.
///
/// Lines end in LF or CRLF. `name` stands for the text in messages. Complexity: linear, some 20 ns a line.
/// Errors: `input_error` naming the line, the value and what was expected, for anything that is not a positive
/// integer below 2^63 (or zero, with `skip_empty`). The list then holds the lines before it.
inline void append_lengths(std::string_view text, std::string_view name, length_options const& options,
                           length_list& list) {
  text = detail::without_byte_order_mark(text);
  std::int64_t line = 0;
  while (!text.empty()) {
    ++line;
    std::string_view const whole = text.substr(0, text.find('\n'));
    text.remove_prefix(whole.size() < text.size() ? whole.size() + 1 : whole.size());
    std::string_view const entry = detail::trimmed(whole.substr(0, whole.find('#')));
    // A comment may hold any text, but a zero byte means that this is no text at all.
    require(whole.find('\0') == std::string_view::npos, name, ":", line,
            ": holds a zero byte, expected text with one integer a line");
    if (entry.empty()) continue;

    std::int64_t value{};
    auto const [end, code] = std::from_chars(entry.data(), entry.data() + entry.size(), value);
    if (code != std::errc{} || end != entry.data() + entry.size() || value <= 0) {
      std::string const place = message(name, ":", line);
      value = detail::length_from(entry, place);
      require(value >= 0, place, ": length is ", value, ", expected at least 1");
      require(value > 0 || options.skip_empty, place,
              ": length is 0, expected at least 1 (skip-empty lets zeros pass)");
      ++list.empty_documents;
    }
    list.lengths.push_back(value);
  }
}

}  // namespace libra
