#pragma once

#include "options.hpp"

#include <libra/io/file.hpp>
#include <libra/io/json_writer.hpp>
#include <libra/version.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace libra::tools {

/// A command's document: what wrote it, then the members that `fill` writes.
template <std::invocable<json_writer&> Fill>
[[nodiscard]] std::string document(std::string_view command, Fill fill) {
  std::string text;
  json_writer json(text);
  json.object([&] {
    json.member("libra", version);
    json.member("command", command);
    fill(json);
  });
  return text;
}

/// Writes the document, if asked for, then the tables, unless the document took their place.
///
/// Errors: `input_error` naming the path; nothing is on standard output then.
template <std::invocable Document, std::invocable Tables>
void deliver(output_options const& output, Document make_document, Tables make_tables) {
  if (!output.json.empty()) {
    write_file(output.json, make_document());
  }
  if (output.tables()) {
    write_file("-", make_tables());
  }
}

}  // namespace libra::tools
