#pragma once

#include <libra/core/bytes.hpp>
#include <libra/core/error.hpp>
#include <libra/core/wide.hpp>
#include <libra/io/in_quotes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace libra {

/// The index (.idx) of a Megatron-LM data set, in place: one length per sequence, nothing is copied.
///
/// Arrays in the file are not aligned: lengths (int32) begin at byte 34, then follow pointers into the tokens (int64),
/// document boundaries (int64), and in multimodal sets one byte a sequence. Pre: the bytes outlive the view.
/// Source: megatron/core/datasets/indexed_dataset.py of NVIDIA/Megatron-LM (_IndexWriter, _IndexReader, DType).
class megatron_index {
 public:
  /// Checks everything that the file says; `after_block` is called after every million entries.
  ///
  /// Complexity: linear. Errors: `input_error` naming the byte, what is there and what was expected: another magic or
  /// version, an unknown token type, counts that the file's size does not have, a negative length, pointers that are
  /// not the running sum of the lengths, document boundaries that decrease or do not span all sequences.
  megatron_index(std::span<std::byte const> bytes, std::string_view name, std::function<void()> const& after_block = {})
      : first_(bytes.data()) {
    using namespace std::string_view_literals;
    constexpr std::string_view magic = "MMIDIDX\0\0"sv;
    std::string_view const text = text_of(bytes);
    require(text.starts_with(magic), name, ": byte 0: magic is ", in_quotes(text.substr(0, magic.size())),
            ", expected 'MMIDIDX\\x00\\x00'");
    require(bytes.size() >= header_bytes, name, ": byte ", bytes.size(), ": the file ends in its header of ",
            header_bytes, " bytes");
    auto const stated = load_little_endian<std::uint64_t>(first_ + 9);
    require(stated == 1, name, ": byte 9: version is ", stated, ", expected 1");
    token_type_ = load_little_endian<std::uint8_t>(first_ + 17);
    require(token_type_ >= 1 && token_type_ < widths.size(), name, ": byte 17: token type is ", int{token_type_},
            ", expected 1 to ", widths.size() - 1);
    read_counts(bytes.size(), name);
    check_sequences(name, after_block);
    check_documents(name, after_block);
  }

  /// Sequences. A document is one sequence or several.
  [[nodiscard]] std::int64_t size() const noexcept { return sequences_; }
  /// Tokens of sequence `i`. Pre: `0 <= i < size()`.
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const noexcept {
    return load_little_endian<std::int32_t>(first_ + byte_of(i));
  }
  /// Where the first token of sequence `i` is in the .bin file.
  [[nodiscard]] std::int64_t pointer(std::int64_t i) const noexcept {
    return load_little_endian<std::int64_t>(first_ + pointer_byte(i));
  }
  [[nodiscard]] std::int64_t documents() const noexcept { return boundaries_ - 1; }
  /// The first sequence of document `k`, or the number of sequences for `k == documents()`.
  [[nodiscard]] std::int64_t document_begin(std::int64_t k) const noexcept {
    return load_little_endian<std::int64_t>(first_ + boundary_byte(k));
  }
  /// The code of the tokens' type: 1 uint8, 2 int8, 3 int16, 4 int32, 5 int64, 8 uint16; 6 and 7 are floating.
  [[nodiscard]] std::uint8_t token_type() const noexcept { return token_type_; }
  /// Where the length of sequence `i` is in the file.
  [[nodiscard]] std::int64_t byte_of(std::int64_t i) const noexcept { return header_bytes + 4 * i; }

 private:
  static constexpr std::int64_t header_bytes = 34;
  /// Bytes of a token, by code. What 6 and 7 are differs between forks: the first pointer beyond 0 tells.
  static constexpr std::array<std::int64_t, 9> widths{0, 1, 1, 2, 4, 8, 0, 0, 2};

  [[nodiscard]] std::int64_t pointer_byte(std::int64_t i) const noexcept {
    return header_bytes + 4 * sequences_ + 8 * i;
  }
  [[nodiscard]] std::int64_t boundary_byte(std::int64_t k) const noexcept {
    return header_bytes + 12 * sequences_ + 8 * k;
  }

  void read_counts(std::size_t file_bytes, std::string_view name) {
    auto const sequences = load_little_endian<std::uint64_t>(first_ + 18);
    auto const boundaries = load_little_endian<std::uint64_t>(first_ + 26);
    int128 const needed = header_bytes + 12 * static_cast<int128>(sequences) + 8 * static_cast<int128>(boundaries);
    require(boundaries >= 1, name, ": byte 26: the file has 0 document boundaries, expected at least 1");
    int128 const modes = static_cast<int128>(file_bytes) - needed;
    require(modes >= 0, name, ": byte ", file_bytes, ": the file ends, but ", sequences, " sequences and ", boundaries,
            " document boundaries take ", needed, " bytes");
    require(modes == 0 || modes == static_cast<int128>(sequences), name, ": byte ", needed, ": ", modes,
            " bytes follow, expected none, or one for each of ", sequences, " sequences");
    sequences_ = static_cast<std::int64_t>(sequences);
    boundaries_ = static_cast<std::int64_t>(boundaries);
  }

  void check_sequences(std::string_view name, std::function<void()> const& after_block) const {
    std::int64_t width = widths[token_type_];
    int128 tokens = 0;
    for (std::int64_t i = 0; i < sequences_; ++i) {
      std::int64_t const at = pointer(i);
      if (width == 0 && tokens > 0) width = static_cast<int128>(at) == tokens * 4 ? 4 : 8;
      require(i == 0 || at >= pointer(i - 1), name, ": byte ", pointer_byte(i), ": pointer of sequence ", i, " is ", at,
              ", below that of the one before");
      require(static_cast<int128>(at) == tokens * width, name, ": byte ", pointer_byte(i), ": pointer of sequence ", i,
              " is ", at, ", expected ", tokens * width, ", the bytes of the tokens before it");
      require((*this)[i] >= 0, name, ": byte ", byte_of(i), ": length of sequence ", i, " is ", (*this)[i],
              ", expected at least 0");
      tokens += (*this)[i];
      if (after_block && (i & 0xFFFFF) == 0xFFFFF) after_block();
    }
  }

  void check_documents(std::string_view name, std::function<void()> const& after_block) const {
    std::int64_t before = 0;
    for (std::int64_t k = 0; k < boundaries_; ++k) {
      std::int64_t const at = document_begin(k);
      require(k > 0 || at == 0, name, ": byte ", boundary_byte(k), ": the first document begins at sequence ", at,
              ", expected 0");
      require(at >= before && at <= sequences_, name, ": byte ", boundary_byte(k), ": document ", k,
              " begins at sequence ", at, ", expected ", before, " to ", sequences_);
      before = at;
      if (after_block && (k & 0xFFFFF) == 0xFFFFF) after_block();
    }
    require(before == sequences_, name, ": byte ", boundary_byte(boundaries_ - 1),
            ": the last document ends at sequence ", before, ", expected ", sequences_);
  }

  std::byte const* first_;
  std::uint8_t token_type_{};
  std::int64_t sequences_{};
  std::int64_t boundaries_{};
};

}  // namespace libra
