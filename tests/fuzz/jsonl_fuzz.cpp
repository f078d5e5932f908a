#include "fuzz_target.hpp"

#include <libra/io/lengths_jsonl.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return libra::test::fuzz(data, size, [](auto, std::string_view text) {
    libra::length_list list;
    libra::append_jsonl_lengths(text, "fuzzed.jsonl", {.skip_empty = true, .field = "n"}, list);
    for (std::int64_t const length : list.lengths) libra::test::expect(length >= 0);
  });
}
