#pragma once

#include <support/scratch_folder.hpp>

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace libra::test {

/// What a run of the command left behind.
struct command_result {
  int exit_code{};
  std::string out;
  std::string err;

  [[nodiscard]] auto error_lines() const { return std::ranges::count(err, '\n'); }
};

[[nodiscard]] inline std::string content_of(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A path of the repository.
[[nodiscard]] inline std::string source_path(std::string const& path) {
  char const* const root = std::getenv("LIBRA_SOURCE_DIR");
  if (root == nullptr) throw std::runtime_error("LIBRA_SOURCE_DIR is not set: run this test through ctest");
  return std::string(root) + '/' + path;
}

/// Runs the built command with these arguments and this standard input: the one that `variable` of the environment
/// names.
[[nodiscard]] inline command_result run_libra(std::vector<std::string> const& arguments, std::string_view input = {},
                                              std::string const& variable = "LIBRA_COMMAND") {
  char const* const command = std::getenv(variable.c_str());
  if (command == nullptr) throw std::runtime_error(variable + " is not set: run this test through ctest");
  auto const in_quotes = [](std::string const& text) {
    std::string quoted = "'";
    for (char const c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
  };
  scratch_folder const folder;
  std::string line = in_quotes(command);
  for (std::string const& argument : arguments) line += ' ' + in_quotes(argument);
  line += " <" + in_quotes(folder.write("in", input)) + " >" + in_quotes(folder.path("out")) + " 2>" +
          in_quotes(folder.path("err"));
  int const status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(folder.path("out")), content_of(folder.path("err"))};
}

}  // namespace libra::test
