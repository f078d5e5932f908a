#pragma once

#include <libra/core/error.hpp>
#include <libra/io/in_quotes.hpp>
#include <libra/io/length_list.hpp>
#include <libra/model/speeds.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace libra {

namespace detail {

/// The thousandths that `text` is, all of it: digits, and after a point one to three more. 0 when it is nothing of the
/// kind, is zero, or is beyond what a speed may be.
[[nodiscard]] constexpr std::int32_t thousandths_of(std::string_view text) noexcept {
  constexpr auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::int64_t value = 0;
  std::size_t at = 0;
  for (; at < text.size() && is_digit(text[at]) && value <= most_speed_permille; ++at) {
    value = 10 * value + (text[at] - '0');
  }
  if (at == 0) {
    return 0;
  }
  std::size_t const point = at;
  bool const fraction = at < text.size() && text[at] == '.';
  at += fraction ? 1 : 0;
  for (std::size_t place = 0; place < 3; ++place) {
    bool const given = fraction && at < text.size() && is_digit(text[at]);
    value = 10 * value + (given ? text[at] - '0' : 0);
    at += given ? 1 : 0;
  }
  bool const whole = at == text.size() && (!fraction || at > point + 1);
  return whole && value <= most_speed_permille ? static_cast<std::int32_t>(value) : 0;
}

}  // namespace detail

/// The relative speeds in `text`: one positive decimal a line, as 1 or 0.85; blank lines and what follows a `#` are
/// skipped.
///
/// Shape: `[lines with a speed]`. Units: thousandths, exactly. Lines end in LF or CRLF. `name` stands for the text in
/// messages. Errors: `input_error` naming the line, the value and what was expected, for anything that is not a decimal
/// from 0.001 to 1000 with at most three places. Complexity: linear.
[[nodiscard]] inline std::vector<std::int32_t> speeds_from_text(std::string_view text, std::string_view name) {
  std::vector<std::int32_t> speeds;
  detail::line_reader lines(text);
  while (lines.next()) {
    std::string_view const entry = detail::trimmed(lines.line().substr(0, lines.line().find('#')));
    if (entry.empty()) continue;
    std::int32_t const speed = detail::thousandths_of(entry);
    require(speed > 0, name, ":", lines.number(), ": speed is ", in_quotes(entry),
            ", expected one decimal a line from 0.001 to 1000, with at most three places");
    speeds.push_back(speed);
  }
  return speeds;
}

}  // namespace libra
