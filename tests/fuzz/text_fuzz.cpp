#include "fuzz_target.hpp"

#include <libra/io/lengths_text.hpp>

#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  return libra::test::fuzz(data, size, [](auto, std::string_view text) {
    libra::length_list list;
    libra::append_lengths(text, "fuzzed.len", {}, list);
    for (std::int64_t const length : list.lengths) libra::test::expect(length >= 1);
    // What was read is read again from what is written.
    libra::length_list again;
    libra::append_lengths(libra::lengths_as_text(list.lengths), "again.len", {}, again);
    libra::test::expect(again == list);
  });
}
