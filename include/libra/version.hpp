#pragma once

#include <string_view>

/// The library's version. The build system reads the three macros below, so they are its only source.
#define LIBRA_VERSION_MAJOR 0
#define LIBRA_VERSION_MINOR 1
#define LIBRA_VERSION_PATCH 0

#define LIBRA_DETAIL_TEXT_OF(x) #x
#define LIBRA_DETAIL_VERSION_TEXT(major, minor, patch) \
  LIBRA_DETAIL_TEXT_OF(major) "." LIBRA_DETAIL_TEXT_OF(minor) "." LIBRA_DETAIL_TEXT_OF(patch)

namespace libra {

/// The version as text, "MAJOR.MINOR.PATCH".
inline constexpr std::string_view version =
    LIBRA_DETAIL_VERSION_TEXT(LIBRA_VERSION_MAJOR, LIBRA_VERSION_MINOR, LIBRA_VERSION_PATCH);

}  // namespace libra

#undef LIBRA_DETAIL_VERSION_TEXT
#undef LIBRA_DETAIL_TEXT_OF
