#include "fuzz_target.hpp"
#include "resume.hpp"

#include <libra/core/bytes.hpp>
#include <libra/core/digest.hpp>
#include <libra/sample/state_bytes.hpp>

#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return libra::test::fuzz(data, size, [](auto, std::string_view text) {
    // With the digest that belongs to them, or hardly any bytes would come to be read.
    std::string bytes(text);
    libra::digest const sum = libra::hasher().add(std::string_view(bytes)).finish();
    libra::append_little_endian(bytes, sum.high);
    libra::append_little_endian(bytes, sum.low);
    libra::sampler_state const state = libra::state_from_bytes(std::as_bytes(std::span(bytes)));
    libra::test::expect(to_bytes(state) == bytes);
    libra::test::resume(state);
  });
}
