#pragma once

#include <libra/core/error.hpp>
#include <libra/io/length_list.hpp>

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace libra {

/// Appends the lengths in `text`: one integer a line; blank lines and what follows a `#` are skipped.
///
/// Lines end in LF or CRLF. `name` stands for the text in messages. Complexity: linear, some 20 ns a line.
/// Errors: `input_error` naming the line, the value and what was expected, for anything that is not a positive
/// integer below 2^63 (or zero, with `skip_empty`). The list then holds the lines before it.
inline void append_lengths(std::string_view text, std::string_view name, length_options const& options,
                           length_list& list) {
  detail::line_reader lines(text);
  while (lines.next()) {
    std::string_view const entry = detail::trimmed(lines.line().substr(0, lines.line().find('#')));
    auto const place = [&] { return message(name, ":", lines.number()); };
    // A comment may hold any text, but a zero byte means that this is no text at all.
    require(lines.line().find('\0') == std::string_view::npos, name, ":", lines.number(),
            ": holds a zero byte, expected text with one integer a line");
    if (entry.empty()) continue;

    std::int64_t value{};
    if (detail::parse_int64(entry, value) != std::errc{}) {
      value = detail::length_from(entry, place(), "one integer a line");
    }
    append_length(value, options, list, place);
  }
}

/// The lengths as `append_lengths` reads them: one a line.
[[nodiscard]] inline std::string lengths_as_text(std::span<std::int64_t const> lengths) {
  std::string text;
  char digits[24];
  for (std::int64_t const length : lengths) {
    text.append(digits, std::to_chars(digits, digits + sizeof digits, length).ptr);
    text += '\n';
  }
  return text;
}

}  // namespace libra
