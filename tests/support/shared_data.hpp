#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace libra::test {

/// A file of the real data that lies beside the repository in some checkouts (../shared/data, or LIBRA_SHARED_DATA),
/// or nothing. Tests that read it pass without it.
inline std::optional<std::string> shared_data(std::string const& name) {
  char const* const folder = std::getenv("LIBRA_SHARED_DATA");
  char const* const source = std::getenv("LIBRA_SOURCE_DIR");
  std::string const root =
      folder != nullptr ? folder : std::string(source != nullptr ? source : ".") + "/../shared/data";
  std::string const path = root + '/' + name;
  return std::filesystem::exists(path) ? std::optional(path) : std::nullopt;
}

}  // namespace libra::test
