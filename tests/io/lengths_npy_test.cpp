#include <libra/io/lengths_npy.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

using lengths = std::vector<std::int64_t>;

namespace {

lengths read(lengths const& values) {
  std::string const bytes = libra::npy_file(values);
  libra::npy_lengths const source(std::as_bytes(std::span(bytes)), "f.npy");
  lengths all;
  for (std::int64_t i = 0; i < source.size(); ++i) all.push_back(source[i]);
  return all;
}

}  // namespace

TEST_CASE("an array of lengths") {
  CHECK(read({5, 6, 7}) == lengths{5, 6, 7});
  CHECK(read({}).empty());
  CHECK(read({0}) == lengths{0});
  CHECK(read({0, 9, 3}) == lengths{0, 9, 3});
}

TEST_CASE("an array that begins with 0 and never decreases is cumulative") {
  CHECK(read({0, 5, 11, 11, 18}) == lengths{5, 6, 0, 7});
  CHECK(read({0, 5, 11, 11, 11, 11}) == lengths{5, 6});  // padded, as Megatron's SFT data sets are
  CHECK(read({0, 0, 0}).empty());
}

TEST_CASE("what is no length is named with its byte") {
  std::string const bytes = libra::npy_file(lengths{5, -6});
  CHECK_THROWS_WITH_AS(static_cast<void>(libra::npy_lengths(std::as_bytes(std::span(bytes)), "f.npy")),
                       "f.npy: byte 136: entry 1 is -6, expected at least 0", libra::input_error);
  std::string table = libra::npy_file(lengths{5, 6});
  table.replace(table.find("(2,), }"), 7, "(1,2,)}");
  CHECK_THROWS_WITH_AS(static_cast<void>(libra::npy_lengths(std::as_bytes(std::span(table)), "f.npy")),
                       "f.npy: the array has 2 dimensions, expected 1: lengths or cu_seqlens", libra::input_error);
}
