#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace libra::test {

/// A folder of its own for one test case, removed at the end.
class scratch_folder {
 public:
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "libra_test_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(scratch_folder const&) = delete;
  scratch_folder& operator=(scratch_folder const&) = delete;

  [[nodiscard]] std::string path(std::string const& name = {}) const {
    return name.empty() ? path_ : path_ + '/' + name;
  }

  /// Writes a file and returns its path.
  std::string write(std::string const& name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  [[nodiscard]] bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

}  // namespace libra::test
