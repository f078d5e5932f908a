#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace libra::test {

/// The fields of a Megatron-LM .idx, to be written as they are: right as made, and then broken one by one.
struct index_file {
  std::string magic{"MMIDIDX\0\0", 9};
  std::uint64_t version{1};
  std::uint8_t token_type{4};
  std::uint64_t sequence_count{};
  std::uint64_t boundary_count{};
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> pointers;
  std::vector<std::int64_t> boundaries;
  std::string modes;

  /// One document per sequence, 4 bytes a token.
  explicit index_file(std::vector<std::int32_t> of) : lengths(std::move(of)) {
    sequence_count = lengths.size();
    boundary_count = sequence_count + 1;
    std::int64_t at = 0;
    for (std::int32_t const length : lengths) {
      pointers.push_back(at);
      at += 4 * std::int64_t{length};
    }
    boundaries.resize(boundary_count);
    std::iota(boundaries.begin(), boundaries.end(), 0);
  }

  [[nodiscard]] std::string bytes() const {
    std::string out = magic;
    put(out, version);
    put(out, token_type);
    put(out, sequence_count);
    put(out, boundary_count);
    for (std::int32_t const length : lengths) put(out, length);
    for (std::int64_t const pointer : pointers) put(out, pointer);
    for (std::int64_t const boundary : boundaries) put(out, boundary);
    return out + modes;
  }

 private:
  template <class T>
  static void put(std::string& out, T value) {
    static_assert(std::endian::native == std::endian::little, "the test writes the format as memory has it");
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    out.append(raw, sizeof(T));
  }
};

}  // namespace libra::test
