#pragma once

#include <libra/core/error.hpp>
#include <libra/io/file.hpp>
#include <libra/io/in_quotes.hpp>
#include <libra/io/lengths_text.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

namespace libra {
namespace detail {

/// The first line of `text` that is neither blank nor a comment.
[[nodiscard]] inline std::string_view first_entry(std::string_view text) noexcept {
  text = without_byte_order_mark(text);
  while (!text.empty()) {
    std::string_view const line = text.substr(0, text.find('\n'));
    std::string_view const entry = trimmed(line);
    if (!entry.empty() && entry.front() != '#') return entry;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

/// What a file is whose content or name says that it is no plain text list, or nothing.
[[nodiscard]] inline std::string_view foreign_format(std::string_view content, std::string_view name) noexcept {
  struct magic {
    std::string_view bytes;
    std::string_view format;
  };
  using namespace std::string_view_literals;
  constexpr std::array magics{
      magic{"MMIDIDX\0\0"sv, "a Megatron-LM index (.idx)"},
      magic{"TNTIDX\0\0"sv, "a fairseq index (.idx)"},
      magic{"\x93NUMPY"sv, "a NumPy array (.npy)"},
      magic{"PK\x03\x04"sv, "a zip archive (.npz, .zip)"},
      magic{"\x1F\x8B"sv, "a gzip file"},
      magic{"PAR1"sv, "a Parquet file"},
  };
  for (auto const& [bytes, format] : magics) {
    if (content.starts_with(bytes)) return format;
  }
  std::string_view const entry = first_entry(content);
  if (entry.starts_with('{') || entry.starts_with('[')) return "JSON";
  bool const number = !entry.empty() && (entry.front() == '-' || (entry.front() >= '0' && entry.front() <= '9'));
  bool const table = entry.find_first_of(",;\t") != std::string_view::npos;
  bool const named = name.ends_with(".csv") || name.ends_with(".tsv");
  if (!entry.empty() && ((table && (named || !number)) || (named && !number))) return "a table (CSV)";
  return {};
}

}  // namespace detail

/// Reads lists of document lengths and joins them in order. The path "-" is standard input.
///
/// Formats: plain text, see `append_lengths`. Errors: `input_error` naming the file (and line): one that cannot be
/// read, is of a format known by its content but not read, or holds what is no length; and no length in any of them.
[[nodiscard]] inline length_list read_lengths(std::span<std::string const> paths, length_options const& options = {}) {
  length_list list;
  std::string names;
  for (std::string const& path : paths) {
    std::string const content = read_file(path);
    std::string const name = path == "-" ? "stdin" : path;
    std::string_view const foreign = detail::foreign_format(content, name);
    require(foreign.empty(), name, ": is ", foreign, ", expected plain text with one integer a line");
    append_lengths(content, name, options, list);
    names += (names.empty() ? "" : ", ") + name;
  }
  require(!list.lengths.empty(), names, ": holds no lengths, expected at least one");
  return list;
}

}  // namespace libra
