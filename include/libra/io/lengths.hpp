#pragma once

#include <libra/core/bytes.hpp>
#include <libra/core/error.hpp>
#include <libra/io/file_content.hpp>
#include <libra/io/length_format.hpp>
#include <libra/io/length_list.hpp>
#include <libra/io/lengths_csv.hpp>
#include <libra/io/lengths_jsonl.hpp>
#include <libra/io/lengths_npy.hpp>
#include <libra/io/lengths_text.hpp>
#include <libra/io/megatron_index.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace libra {
namespace detail {

/// Appends what an indexable list holds. Places are bytes of its file.
template <class Source>
void append_all(Source const& source, std::string_view name, length_options const& options, length_list& list) {
  list.lengths.reserve(list.lengths.size() + static_cast<std::size_t>(source.size()));
  for (std::int64_t i = 0; i < source.size(); ++i) {
    append_length(source[i], options, list, [&] { return message(name, ": byte ", source.byte_of(i)); });
  }
}

}  // namespace detail

/// Appends the lengths of one file in any of the formats that `recognise` knows. `name` stands for it in messages.
///
/// Errors: those of the format's reader, and `input_error` for a format that is known by its content but not read.
inline void append_recognised_lengths(std::span<std::byte const> bytes, std::string_view name,
                                      length_options const& options, length_list& list) {
  std::string_view const text = text_of(bytes);
  recognised_format const is = recognise(text, name, options);
  require(is.foreign.empty(), name, ": is ", is.foreign,
          ", expected lengths as text, CSV, JSONL, .npy or Megatron-LM .idx");
  switch (is.format) {
    case length_format::text:
      append_lengths(text, name, options, list);
      break;
    case length_format::csv:
      append_csv_lengths(text, name, options, list);
      break;
    case length_format::jsonl:
      append_jsonl_lengths(text, name, options, list);
      break;
    case length_format::npy:
      detail::append_all(npy_lengths(bytes, name), name, options, list);
      break;
    case length_format::megatron_index:
      detail::append_all(megatron_index(bytes, name), name, options, list);
      break;
  }
}

/// Reads lists of document lengths and joins them in order. The path "-" is standard input.
///
/// Each file's format is recognised by its content, then by its name: plain text, CSV, JSONL, .npy, Megatron-LM .idx.
/// Errors: `input_error` naming the file and the line or byte: one that cannot be read, is of a format known by its
/// content but not read, or holds what is no length; and no length in any of them.
[[nodiscard]] inline length_list read_lengths(std::span<std::string const> paths, length_options const& options = {}) {
  length_list list;
  std::string names;
  for (std::string const& path : paths) {
    file_content const content(path);
    std::string const name = path == "-" ? "stdin" : path;
    append_recognised_lengths(content.bytes(), name, options, list);
    names += (names.empty() ? "" : ", ") + name;
  }
  require(!list.lengths.empty(), names, ": holds no lengths, expected at least one");
  return list;
}

}  // namespace libra
