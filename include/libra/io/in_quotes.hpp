#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace libra {

/// `text` between single quotes, on one line and short enough for a message.
///
/// Bytes that are not printable ASCII become `\xNN`; what goes beyond `most` bytes becomes "...".
[[nodiscard]] inline std::string in_quotes(std::string_view text, std::size_t most = 40) {
  std::string out{"'"};
  for (char const c : text.substr(0, most)) {
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      auto const byte = static_cast<unsigned char>(c);
      out += {'\\', 'x', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    }
  }
  return out + (text.size() > most ? "...'" : "'");
}

}  // namespace libra
