#include "fuzz_target.hpp"
#include "resume.hpp"

#include <libra/io/sampler_state_json.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return libra::test::fuzz(data, size, [](auto, std::string_view text) {
    libra::sampler_state const state = libra::sampler_state_from_json(text);
    libra::test::expect(libra::sampler_state_from_json(sampler_state_json(state)) == state);
    libra::test::resume(state);
  });
}
