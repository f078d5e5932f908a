#include <libra/core/bytes.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>

TEST_CASE("bytes from least to greatest, at any address") {
  std::string text = "x";
  libra::append_little_endian(text, std::uint32_t{0x04030201});
  libra::append_little_endian(text, std::int64_t{-2});
  CHECK(text == std::string("x\x01\x02\x03\x04\xfe\xff\xff\xff\xff\xff\xff\xff", 13));
  auto const bytes = std::as_bytes(std::span(text));
  CHECK(libra::load_little_endian<std::uint32_t>(bytes.data() + 1) == 0x04030201);
  CHECK(libra::load_little_endian<std::int64_t>(bytes.data() + 5) == -2);
}

TEST_CASE("bytes are text where they are") {
  std::string const text("a\0b", 3);
  CHECK(libra::text_of(std::as_bytes(std::span(text))) == text);
  CHECK(libra::text_of({}).empty());
}
