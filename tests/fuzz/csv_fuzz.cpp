#include "fuzz_target.hpp"

#include <libra/io/lengths_csv.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return libra::test::fuzz(data, size, [](auto, std::string_view text) {
    libra::length_list list;
    libra::append_csv_lengths(text, "fuzzed.csv", {.skip_empty = true, .column = "n"}, list);
    for (std::int64_t const length : list.lengths) libra::test::expect(length >= 0);
  });
}
