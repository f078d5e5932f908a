#pragma once

#include <libra/core/bytes.hpp>
#include <libra/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

namespace libra::test {

/// Calls a reader with bytes from the fuzzer. It may refuse them, with a message; nothing else.
template <class Read>
int fuzz(std::uint8_t const* data, std::size_t size, Read read) {
  std::span<std::byte const> const bytes = std::as_bytes(std::span(data, size));
  try {
    read(bytes, text_of(bytes));
  } catch (input_error const& e) {
    // A message names its place and ends on the line that it began.
    std::string_view const said = e.what();
    if (said.size() < 10 || said.find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}

/// Ends the program when a reader let pass what it must not.
inline void expect(bool holds) {
  if (!holds) std::abort();
}

}  // namespace libra::test
