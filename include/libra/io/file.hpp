#pragma once

#include <libra/core/error.hpp>
#include <libra/io/in_quotes.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace libra {
namespace detail {

struct file_closer {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using file_handle = std::unique_ptr<std::FILE, file_closer>;

[[nodiscard]] inline std::string reason_of(int code) { return std::generic_category().message(code); }

}  // namespace detail

/// The whole content of a file, or of standard input for the path "-".
///
/// Errors: `input_error` naming the path and the system's reason: missing, not permitted, a directory.
[[nodiscard]] inline std::string read_file(std::string const& path) {
  bool const standard_input = path == "-";
  detail::file_handle const owned{standard_input ? nullptr : std::fopen(path.c_str(), "rb")};
  std::FILE* const file = standard_input ? stdin : owned.get();
  require(file != nullptr, "cannot read ", in_quotes(path, 400), ": ", detail::reason_of(errno));

  std::string content;
  std::size_t constexpr piece = std::size_t{1} << 20;
  for (;;) {
    std::size_t const have = content.size();
    content.resize(have + piece);
    errno = 0;
    std::size_t const got = std::fread(content.data() + have, 1, piece, file);
    content.resize(have + got);
    if (got < piece) {
      require(std::ferror(file) == 0, "cannot read ", in_quotes(path, 400), ": ", detail::reason_of(errno));
      return content;
    }
  }
}

/// Replaces a file's content, or writes to standard output for the path "-".
///
/// Errors: `input_error` naming the path and the system's reason: no such folder, not permitted, no space.
inline void write_file(std::string const& path, std::string_view content) {
  bool const standard_output = path == "-";
  errno = 0;
  detail::file_handle owned{standard_output ? nullptr : std::fopen(path.c_str(), "wb")};
  std::FILE* const file = standard_output ? stdout : owned.get();
  bool const written = file != nullptr && std::fwrite(content.data(), 1, content.size(), file) == content.size() &&
                       std::fflush(file) == 0;
  require(written, "cannot write ", standard_output ? std::string{"standard output"} : in_quotes(path, 400), ": ",
          detail::reason_of(errno));
}

}  // namespace libra
