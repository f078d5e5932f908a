#include "fuzz_target.hpp"

#include <libra/io/lengths.hpp>

#include <string>

// Any file, by any name: the first byte chooses the name.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  static char const* const names[]{"f", "f.csv", "f.idx", "f.npy", "f.jsonl"};
  return libra::test::fuzz(data + 1, size - 1, [&](std::span<std::byte const> bytes, auto) {
    libra::length_list list;
    libra::append_recognised_lengths(bytes, names[data[0] % 5], {.skip_empty = true, .column = "n", .field = "n"},
                                     list);
    for (std::int64_t const length : list.lengths) libra::test::expect(length >= 0);
  });
}
