#pragma once

#include <libra/core/error.hpp>
#include <libra/io/in_quotes.hpp>

#include <charconv>
#include <cstddef>
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

/// What readers of lengths let pass, and where they look.
struct length_options {
  /// Empty documents are kept, as zeros, and counted instead of refused.
  bool skip_empty{false};
  /// The column of a CSV file that holds the lengths.
  std::string column{};
  /// The field of a JSONL file's objects that holds the length.
  std::string field{};
};

/// Appends one length, or says at `place()` why it is none: it is negative, or zero where that is refused.
template <class Place>
void append_length(std::int64_t value, length_options const& options, length_list& list, Place place) {
  if (value <= 0) {
    require(value >= 0, place(), ": length is ", value, ", expected at least 1");
    require(options.skip_empty, place(), ": length is 0, expected at least 1 (skip-empty lets zeros pass)");
    ++list.empty_documents;
  }
  list.lengths.push_back(value);
}

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

/// Splits text into lines and numbers them from 1. Lines end in LF or CRLF.
class line_reader {
 public:
  explicit line_reader(std::string_view text) noexcept : rest_(without_byte_order_mark(text)) {}

  /// Steps to the next line; false at the end of the text.
  bool next() noexcept {
    if (rest_.empty()) return false;
    ++number_;
    std::size_t const end = rest_.find('\n');
    with_end_ = rest_.substr(0, end == std::string_view::npos ? end : end + 1);
    rest_.remove_prefix(with_end_.size());
    return true;
  }
  [[nodiscard]] std::int64_t number() const noexcept { return number_; }
  /// The line without its LF.
  [[nodiscard]] std::string_view line() const noexcept { return with_end_.substr(0, with_end_.find('\n')); }
  [[nodiscard]] std::string_view line_with_end() const noexcept { return with_end_; }

 private:
  std::string_view rest_;
  std::string_view with_end_;
  std::int64_t number_{0};
};

/// Reads `text`, all of it, as an integer of 64 bits.
[[nodiscard]] inline std::errc parse_int64(std::string_view text, std::int64_t& value) noexcept {
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() ? code : std::errc::invalid_argument;
}

/// The number that `text` is, all of it. Errors: `input_error` saying why it is none, at `place`.
[[nodiscard]] inline std::int64_t length_from(std::string_view text, std::string const& place,
                                              std::string_view expected) {
  std::int64_t value{};
  std::errc const code = parse_int64(text, value);
  require(code != std::errc::result_out_of_range, place, ": length is ", in_quotes(text),
          ", beyond 64 bits; expected an integer from 1 to 9223372036854775807");
  require(code == std::errc{}, place, ": length is ", in_quotes(text), ", expected ", expected);
  return value;
}

}  // namespace detail
}  // namespace libra
