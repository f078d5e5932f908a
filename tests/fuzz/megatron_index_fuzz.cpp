#include "fuzz_target.hpp"

#include <libra/io/megatron_index.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return libra::test::fuzz(data, size, [](std::span<std::byte const> bytes, auto) {
    libra::megatron_index const index(bytes, "fuzzed.idx");
    for (std::int64_t i = 0; i < index.size(); ++i) {
      libra::test::expect(index[i] >= 0);
      libra::test::expect(index.pointer(i) >= (i == 0 ? 0 : index.pointer(i - 1)));
    }
    for (std::int64_t k = 0; k < index.documents(); ++k) {
      libra::test::expect(index.document_begin(k) <= index.document_begin(k + 1));
    }
  });
}
