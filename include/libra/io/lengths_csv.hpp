#pragma once

#include <libra/core/error.hpp>
#include <libra/io/in_quotes.hpp>
#include <libra/io/length_list.hpp>

#include <csv.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace libra {
namespace detail {

/// Cuts CSV text into records, fed line by line so that a record's place in the file is known.
class csv_records {
 public:
  explicit csv_records(char delimiter) {
    // Strict: a quote inside an unquoted field, or a file that ends inside a quoted one, is an error.
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
    csv_set_delim(&parser_, static_cast<unsigned char>(delimiter));
  }
  ~csv_records() { csv_free(&parser_); }
  csv_records(csv_records const&) = delete;
  csv_records& operator=(csv_records const&) = delete;

  /// Takes one line, its end included. True when a record ended with it; its fields are then in `fields()`.
  bool feed(std::string_view line) {
    start();
    good_ = csv_parse(&parser_, line.data(), line.size(), &take_field, &end_record, this) == line.size() && !split_;
    check_memory();
    return ended_;
  }
  /// Ends the text, whose last line may lack its end.
  bool finish() {
    start();
    good_ = csv_fini(&parser_, &take_field, &end_record, this) == 0;
    check_memory();
    return ended_;
  }
  /// False after text that is no CSV.
  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] std::vector<std::string> const& fields() const noexcept { return fields_; }

 private:
  void start() {
    if (ended_) fields_.clear();
    ended_ = false;
  }
  void check_memory() {
    if (failed_ || csv_error(&parser_) == CSV_ENOMEM) throw std::bad_alloc();
  }

  // Called through C code, which no exception may cross.
  static void take_field(void* text, std::size_t size, void* self) noexcept {
    auto& records = *static_cast<csv_records*>(self);
    // A second record in one line, so the line ended in a bare CR somewhere.
    records.split_ = records.split_ || records.ended_;
    try {
      records.fields_.emplace_back(static_cast<char const*>(text), size);
    } catch (...) {
      records.failed_ = true;
    }
  }
  static void end_record(int, void* self) noexcept { static_cast<csv_records*>(self)->ended_ = true; }

  csv_parser parser_{};
  std::vector<std::string> fields_;
  bool ended_{false};
  bool good_{true};
  bool failed_{false};
  bool split_{false};
};

/// The delimiter of a table: of comma, tab and semicolon the one that its header has most often, the first of equals.
[[nodiscard]] inline char delimiter_of(std::string_view header) noexcept {
  char best = ',';
  for (char const candidate : std::array{'\t', ';'}) {
    if (std::ranges::count(header, candidate) > std::ranges::count(header, best)) best = candidate;
  }
  return best;
}

/// The place of the one field of a header that is called `column`.
[[nodiscard]] inline std::size_t column_of(std::vector<std::string> const& header, std::string_view column,
                                           std::string const& place) {
  std::string names;
  for (std::string const& name : header) {
    names += (names.empty() ? "" : ", ") + in_quotes(name);
  }
  require(!column.empty(), place, ": is the header of a table (CSV) with ", names,
          "; expected the name of the column that holds the lengths (--column)");
  auto const found = std::ranges::find(header, column);
  require(found != header.end(), place, ": has no column ", in_quotes(column), ", expected one of ", names);
  require(std::find(found + 1, header.end(), column) == header.end(), place, ": has column ", in_quotes(column),
          " twice, expected it once");
  return static_cast<std::size_t>(found - header.begin());
}

}  // namespace detail

/// Appends the lengths in CSV text: a header, then records whose column `options.column` is the length of a document.
///
/// Fields are separated by comma, tab or semicolon, whichever the header has most of, and may be quoted; quoted ones
/// may span lines. Blank lines are skipped. `name` stands for the text in messages. Complexity: linear.
/// Errors: `input_error` naming the line (the last one, of a record that spans several), the value and what was
/// expected: text that is no CSV, no such column or two of them, a record that ends before it, a value that is no
/// positive integer below 2^63 (or zero, with `skip_empty`).
inline void append_csv_lengths(std::string_view text, std::string_view name, length_options const& options,
                               length_list& list) {
  detail::line_reader lines(text);
  // Blank lines before the header do not tell the delimiter.
  detail::line_reader ahead(text);
  while (ahead.next() && detail::trimmed(ahead.line()).empty()) {
  }
  detail::csv_records records(detail::delimiter_of(ahead.line()));
  constexpr auto none = static_cast<std::size_t>(-1);
  std::size_t column = none;
  auto const place = [&] { return message(name, ":", lines.number()); };
  auto const take = [&](bool ended) {
    require(records.good(), place(),
            ": is no CSV, expected lines that end in LF or CRLF, and quotes only around whole fields, doubled inside");
    if (!ended) return;
    std::vector<std::string> const& fields = records.fields();
    if (column == none) {
      column = detail::column_of(fields, options.column, place());
      return;
    }
    require(column < fields.size(), place(), ": ends after ", fields.size(), " fields, expected column ",
            in_quotes(options.column), " as field ", column + 1);
    std::int64_t value{};
    if (detail::parse_int64(fields[column], value) != std::errc{}) {
      value = detail::length_from(fields[column], place(), message("an integer in column ", in_quotes(options.column)));
    }
    append_length(value, options, list, place);
  };
  while (lines.next()) {
    take(records.feed(lines.line_with_end()));
  }
  take(records.finish());
}

}  // namespace libra
