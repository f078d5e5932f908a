#pragma once

#include <libra/io/length_list.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace libra {

/// The formats that lengths are read from.
enum class length_format : std::uint8_t {
  text,            ///< one integer a line
  csv,             ///< a table with a named column
  jsonl,           ///< one object a line, with a named field
  npy,             ///< a NumPy array of lengths or cu_seqlens
  megatron_index,  ///< a Megatron-LM .idx
};

/// What a file is, or the name of a format that is known but not read.
struct recognised_format {
  length_format format{length_format::text};
  std::string_view foreign;
};

namespace detail {

/// The first line of `text` that is neither blank nor a comment.
[[nodiscard]] inline std::string_view first_entry(std::string_view text) noexcept {
  line_reader lines(text);
  while (lines.next()) {
    std::string_view const entry = trimmed(lines.line());
    if (!entry.empty() && entry.front() != '#') return entry;
  }
  return {};
}

/// True for the first bytes of something that is no text.
[[nodiscard]] inline bool is_binary(std::string_view content) noexcept {
  return content.substr(0, 512).find('\0') != std::string_view::npos;
}

}  // namespace detail

/// Recognises a file by its content first, then by its name. Complexity: constant but for leading comments.
[[nodiscard]] inline recognised_format recognise(std::string_view content, std::string_view name,
                                                 length_options const& options = {}) noexcept {
  using namespace std::string_view_literals;
  struct magic {
    std::string_view bytes;
    recognised_format is;
  };
  constexpr std::array magics{
      magic{"MMIDIDX\0\0"sv, {length_format::megatron_index, {}}},
      magic{"\x93NUMPY"sv, {length_format::npy, {}}},
      magic{"TNTIDX\0\0"sv, {length_format::text, "a fairseq index (.idx)"}},
      magic{"PK\x03\x04"sv, {length_format::text, "a zip archive (.npz, .zip)"}},
      magic{"\x1F\x8B"sv, {length_format::text, "a gzip file"}},
      magic{"PAR1"sv, {length_format::text, "a Parquet file"}},
  };
  for (auto const& [bytes, is] : magics) {
    if (content.starts_with(bytes)) return is;
  }
  std::string_view const entry = detail::first_entry(content);
  bool const number = !entry.empty() && (entry.front() == '-' || (entry.front() >= '0' && entry.front() <= '9'));
  // These readers then say what is wrong with the magic.
  if (name.ends_with(".idx") && !entry.empty() && !number) return {length_format::megatron_index, {}};
  if (name.ends_with(".npy") && detail::is_binary(content)) return {length_format::npy, {}};
  if (entry.starts_with('{')) return {length_format::jsonl, {}};
  if (entry.starts_with('[')) return {length_format::text, "a JSON array"};
  bool const named = name.ends_with(".csv") || name.ends_with(".tsv");
  bool const asked = named || !options.column.empty();
  bool const table = entry.find_first_of(",;\t") != std::string_view::npos;
  if (!entry.empty() && ((table && (asked || !number)) || (asked && !number))) return {length_format::csv, {}};
  return {};
}

}  // namespace libra
