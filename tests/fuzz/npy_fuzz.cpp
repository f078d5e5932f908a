#include "fuzz_target.hpp"

#include <libra/io/lengths_npy.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return libra::test::fuzz(data, size, [](std::span<std::byte const> bytes, auto) {
    libra::npy_lengths const lengths(bytes, "fuzzed.npy");
    for (std::int64_t i = 0; i < lengths.size(); ++i) libra::test::expect(lengths[i] >= 0);
  });
}
