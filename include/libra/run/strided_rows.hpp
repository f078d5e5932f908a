#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace libra {

/// Rows of bytes at equal distances: all that a transport has to know of a region.
///
/// Shape: row r is `[data + r * stride_bytes, data + r * stride_bytes + row_bytes)`. A row is one token of a region
/// with all its heads, which lie side by side at home and in a workspace alike. The memory may be a device's: a view
/// only computes addresses.
template <class Byte>
struct strided_rows {
  static_assert(std::is_same_v<std::remove_const_t<Byte>, std::byte>);

  Byte* data{};
  std::int64_t rows{};
  std::int64_t row_bytes{};
  std::int64_t stride_bytes{};

  [[nodiscard]] constexpr Byte* row(std::int64_t r) const noexcept { return data + r * stride_bytes; }
  [[nodiscard]] constexpr std::int64_t bytes() const noexcept { return rows * row_bytes; }
  /// True when the rows follow one another without gaps.
  [[nodiscard]] constexpr bool dense() const noexcept { return rows <= 1 || stride_bytes == row_bytes; }

  constexpr operator strided_rows<Byte const>() const noexcept
    requires(!std::is_const_v<Byte>)
  {
    return {data, rows, row_bytes, stride_bytes};
  }
  friend constexpr bool operator==(strided_rows const&, strided_rows const&) = default;
};

/// Rows that are only read.
using const_rows = strided_rows<std::byte const>;
/// Rows that are written.
using mutable_rows = strided_rows<std::byte>;

}  // namespace libra
