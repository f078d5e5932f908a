#pragma once

#include <libra/core/bytes.hpp>
#include <libra/core/error.hpp>
#include <libra/core/wide.hpp>
#include <libra/io/in_quotes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace libra {
namespace detail {

/// Reads the header of a NumPy array, the text of a Python dictionary with three known keys.
class npy_header {
 public:
  npy_header(std::string_view text, std::size_t file_offset, std::string_view name)
      : text_(text),
        file_offset_(file_offset),
        name_(name) {
    take('{');
    while (!next_is('}')) {
      std::string_view const key = quoted();
      take(':');
      bool& seen = key == "descr" ? seen_[0] : key == "fortran_order" ? seen_[1] : key == "shape" ? seen_[2] : seen_[3];
      check(&seen != &seen_[3] && !seen, message("key ", in_quotes(key), " is unknown or there twice"));
      seen = true;
      if (key == "descr") {
        type = quoted();
      } else if (key == "fortran_order") {
        fortran_order = truth();
      } else {
        shape = extents();
      }
      if (!next_is('}')) take(',');
    }
    take('}');
    check(at_ == text_.size(), "text follows the dictionary");
    check(seen_[0] && seen_[1] && seen_[2], "a key is missing");
  }

  std::string_view type;
  bool fortran_order{};
  std::vector<std::int64_t> shape;

 private:
  void check(bool holds, std::string const& what) const {
    require(holds, name_, ": byte ", file_offset_ + at_, ": ", what,
            ", expected a NumPy header with 'descr', 'fortran_order' and 'shape'");
  }
  void skip_blanks() noexcept {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool next_is(char c) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  void take(char c) {
    check(next_is(c), message("is ", in_quotes(text_.substr(at_, 1)), " where '", c, "' should be"));
    ++at_;
    skip_blanks();
  }
  std::string_view quoted() {
    char const quote = next_is('"') ? '"' : '\'';
    take(quote);
    std::size_t const end = text_.find(quote, at_);
    check(end != std::string_view::npos, "a text does not end");
    std::string_view const inside = text_.substr(at_, end - at_);
    at_ = end + 1;
    return inside;
  }
  bool truth() {
    for (std::string_view const word : {"True", "False"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    }
    check(false, "fortran_order is neither True nor False");
    return false;
  }
  std::vector<std::int64_t> extents() {
    std::vector<std::int64_t> all;
    take('(');
    while (!next_is(')')) {
      check(all.size() < 32, "shape has more than 32 extents");
      all.push_back(extent());
      if (!next_is(')')) take(',');
    }
    take(')');
    return all;
  }
  std::int64_t extent() {
    int128 value = 0;
    std::size_t const begin = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = value * 10 + (text_[at_] - '0');
      check(fits_int64(value), "an extent exceeds 64 bits");
    }
    check(at_ > begin, "an extent is no number");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote them
    return static_cast<std::int64_t>(value);
  }

  std::string_view text_;
  std::size_t file_offset_;
  std::string_view name_;
  std::size_t at_{0};
  bool seen_[4]{};
};

}  // namespace detail

/// A NumPy array of integers in the bytes of an .npy file, in place: nothing is copied.
///
/// Versions 1 to 3; elements `<i4`, `<i8` or `<u4`. Pre: the bytes outlive the view.
/// Source: NumPy's format description, numpy/lib/format.py (numpy.lib.format).
class npy_array {
 public:
  /// `name` stands for the bytes in messages. Errors: `input_error` naming the byte, what is there and what was
  /// expected: another magic or version, a header that is none, another type, an extent or a size that the file
  /// does not have.
  npy_array(std::span<std::byte const> bytes, std::string_view name) {
    using namespace std::string_view_literals;
    std::string_view const text = text_of(bytes);
    require(text.starts_with("\x93NUMPY"sv), name, ": byte 0: magic is ", in_quotes(text.substr(0, 6)),
            ", expected '\\x93NUMPY'");
    require(text.size() >= 8, name, ": byte ", text.size(), ": the file ends in its version");
    auto const major = static_cast<unsigned char>(text[6]);
    require(major >= 1 && major <= 3 && text[7] == 0, name, ": byte 6: version is ", int{major}, '.',
            int{static_cast<unsigned char>(text[7])}, ", expected 1.0, 2.0 or 3.0");
    std::size_t const begin = major == 1 ? 10 : 12;
    require(text.size() >= begin, name, ": byte ", text.size(), ": the file ends in its header's length");
    std::uint64_t const length = major == 1 ? load_little_endian<std::uint16_t>(bytes.data() + 8)
                                            : load_little_endian<std::uint32_t>(bytes.data() + 8);
    require(length <= text.size() - begin, name, ": byte ", text.size(), ": the file ends in its header of ", length,
            " bytes");
    detail::npy_header header(text.substr(begin, static_cast<std::size_t>(length)), begin, name);
    require(header.type == "<i4" || header.type == "<i8" || header.type == "<u4", name, ": byte ", begin,
            ": elements are ", in_quotes(header.type), ", expected integers: '<i4', '<i8' or '<u4'");
    require(!header.fortran_order || header.shape.size() < 2, name, ": byte ", begin,
            ": the array is in Fortran order, expected rows");
    type_ = header.type;
    width_ = type_ == "<i8" ? 8 : 4;
    first_ = bytes.data() + begin + length;
    std::uint64_t const data_bytes = text.size() - begin - length;
    // A zero makes the product zero, whatever the other extents are.
    bool const none = std::ranges::find(header.shape, 0) != header.shape.end();
    int128 count = none ? 0 : 1;
    for (std::int64_t const extent : header.shape) {
      count *= none ? 1 : extent;
      require(count * width_ <= static_cast<int128>(data_bytes), name, ": byte ", begin, ": shape asks for at least ",
              count, " elements of ", width_, " bytes, the file has ", data_bytes, " bytes of them");
    }
    require(count * width_ == static_cast<int128>(data_bytes), name, ": byte ",
            begin + length + static_cast<std::uint64_t>(count) * width_, ": ",
            static_cast<int128>(data_bytes) - count * width_, " bytes follow the ", count, " elements of the array");
    size_ = static_cast<std::int64_t>(count);
    shape_ = std::move(header.shape);
    data_offset_ = static_cast<std::int64_t>(begin + length);
  }

  /// '<i4', '<i8' or '<u4'.
  [[nodiscard]] std::string_view type() const noexcept { return type_; }
  [[nodiscard]] std::vector<std::int64_t> const& shape() const noexcept { return shape_; }
  /// Elements in all.
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// Element `i` in row-major order. Pre: `0 <= i < size()`.
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const noexcept {
    std::byte const* const at = first_ + i * static_cast<std::int64_t>(width_);
    return width_ == 8      ? load_little_endian<std::int64_t>(at)
           : type_ == "<i4" ? load_little_endian<std::int32_t>(at)
                            : std::int64_t{load_little_endian<std::uint32_t>(at)};
  }
  /// Where element `i` is in the file.
  [[nodiscard]] std::int64_t byte_of(std::int64_t i) const noexcept {
    return data_offset_ + i * static_cast<std::int64_t>(width_);
  }

 private:
  std::string_view type_;
  std::size_t width_{};
  std::byte const* first_{};
  std::int64_t size_{};
  std::int64_t data_offset_{};
  std::vector<std::int64_t> shape_;
};

/// An .npy file, version 1.0, that holds `values` as a 1-D array of int64.
[[nodiscard]] inline std::string npy_file(std::span<std::int64_t const> values) {
  std::string header = message("{'descr': '<i8', 'fortran_order': False, 'shape': (", values.size(), ",), }");
  // The data begins at a multiple of 64 bytes, after a line end.
  constexpr std::size_t before = 10;
  header.append(63 - (before + header.size()) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  append_little_endian(file, static_cast<std::uint16_t>(header.size()));
  file += header;
  file.reserve(file.size() + values.size() * 8);
  for (std::int64_t const value : values) {
    append_little_endian(file, value);
  }
  return file;
}

}  // namespace libra
