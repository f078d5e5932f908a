#include "values.hpp"

#include <libra/core/error.hpp>
#include <libra/core/wide.hpp>
#include <libra/io/in_quotes.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace libra::tools {
namespace {

struct integer_text {
  int128 value{};
  bool valid{false};
};

/// An optional minus, digits and, where allowed, one suffix; anything too long for 64 bits is invalid.
integer_text read_integer(std::string_view text, bool suffixes) {
  int128 unit = 1;
  if (suffixes && !text.empty()) {
    char const last = text.back();
    unit = last == 'K' || last == 'k' ? 1024 : last == 'M' || last == 'm' ? 1048576 : 1;
    if (unit != 1) text.remove_suffix(1);
  }
  std::int64_t value{};
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return {unit * value, code == std::errc{} && end == text.data() + text.size()};
}

std::string joined(std::span<std::string_view const> names) {
  std::string text;
  for (std::string_view const name : names) {
    text += (text.empty() ? "" : ", ");
    text += name;
  }
  return text;
}

}  // namespace

std::int64_t parse_integer(std::string_view option, std::string_view text, integer_range const& range) {
  auto const [value, valid] = read_integer(text, range.suffixes);
  bool const bounded = range.most != std::numeric_limits<std::int64_t>::max();
  require(valid && value >= range.least && value <= range.most, option, " is ", in_quotes(text),
          ", expected an integer ",
          bounded ? message("from ", range.least, " to ", range.most) : message("of at least ", range.least),
          range.suffixes ? " (K and M are 1024 and 1048576)" : "");
  return static_cast<std::int64_t>(value);
}

std::uint64_t parse_seed(std::string_view option, std::string_view text) {
  std::uint64_t value{};
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(code == std::errc{} && end == text.data() + text.size(), option, " is ", in_quotes(text),
          ", expected an integer from 0 to ", static_cast<int128>(std::numeric_limits<std::uint64_t>::max()));
  return value;
}

attention_mask parse_mask(std::string_view option, std::string_view text) {
  if (text == "causal") return attention_mask::causal();
  if (text == "full") return attention_mask::full();
  constexpr std::string_view window = "window:";
  auto const [width, valid] =
      text.starts_with(window) ? read_integer(text.substr(window.size()), true) : integer_text{};
  require(valid && width >= 1 && fits_int64(width), option, " is ", in_quotes(text),
          ", expected causal, full or window:N with N of at least 1");
  return attention_mask::window(static_cast<std::int64_t>(width));
}

std::size_t parse_choice(std::string_view option, std::string_view text, std::span<std::string_view const> names) {
  auto const found = std::ranges::find(names, text);
  require(found != names.end(), option, " is ", in_quotes(text), ", expected ", names.size() == 1 ? "" : "one of ",
          joined(names));
  return static_cast<std::size_t>(found - names.begin());
}

std::vector<std::size_t> parse_choices(std::string_view option, std::string_view text,
                                       std::span<std::string_view const> names) {
  std::vector<std::size_t> chosen;
  for (bool more = true; more;) {
    std::size_t const comma = text.find(',');
    more = comma != std::string_view::npos;
    std::string_view const name = text.substr(0, comma);
    text.remove_prefix(more ? comma + 1 : text.size());
    std::size_t const choice = parse_choice(option, name, names);
    require(std::ranges::find(chosen, choice) == chosen.end(), option, " names ", in_quotes(name),
            " twice, expected each at most once");
    chosen.push_back(choice);
  }
  return chosen;
}

std::string to_text(attention_mask const& mask) {
  switch (mask.kind) {
    case mask_kind::full:
      return "full";
    case mask_kind::window:
      return message("window:", mask.width_tokens);
    case mask_kind::causal:
      break;
  }
  return "causal";
}

}  // namespace libra::tools
