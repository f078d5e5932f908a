#include "fuzz_target.hpp"

#include <libra/io/speeds_text.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return libra::test::fuzz(data, size, [](auto, std::string_view text) {
    for (std::int32_t const speed : libra::speeds_from_text(text, "fuzzed.speeds")) {
      libra::test::expect(speed >= 1 && speed <= libra::most_speed_permille);
    }
  });
}
