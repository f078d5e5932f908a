#include "fuzz_target.hpp"

#include <libra/io/machine_json.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return libra::test::fuzz(data, size, [](auto, std::string_view text) {
    static_cast<void>(libra::machine_from_json(text, "fuzzed.json").get());
  });
}
