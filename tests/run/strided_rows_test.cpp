#include <libra/run/strided_rows.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <type_traits>

namespace {

using libra::const_rows;
using libra::mutable_rows;

static_assert(std::is_trivially_copyable_v<const_rows>);
static_assert(std::is_convertible_v<mutable_rows, const_rows>);
static_assert(!std::is_convertible_v<const_rows, mutable_rows>);

TEST_CASE("a row is where its stride says, and rows count without the gaps between them") {
  std::array<std::byte, 24> memory{};
  const_rows const column{memory.data() + 2, 3, 4, 8};  // 4 bytes of each of three rows of 8
  CHECK(column.row(0) == memory.data() + 2);
  CHECK(column.row(2) == memory.data() + 18);
  CHECK(column.bytes() == 12);
  CHECK_FALSE(column.dense());
}

TEST_CASE("rows without gaps are dense; so are one row and none, whatever the stride") {
  std::array<std::byte, 24> memory{};
  CHECK(const_rows{memory.data(), 3, 8, 8}.dense());
  CHECK(const_rows{memory.data(), 1, 4, 8}.dense());
  CHECK(const_rows{memory.data(), 0, 4, 8}.dense());
  CHECK(const_rows{}.dense());
  CHECK(const_rows{}.bytes() == 0);
}

TEST_CASE("rows that may be written can be read; views are equal when they show the same") {
  std::array<std::byte, 8> memory{};
  mutable_rows const to{memory.data(), 2, 4, 4};
  *to.row(1) = std::byte{7};
  const_rows const from = to;
  CHECK(*from.row(1) == std::byte{7});
  CHECK(from == const_rows{memory.data(), 2, 4, 4});
  CHECK(from != const_rows{memory.data(), 1, 4, 4});
  CHECK(from != const_rows{memory.data() + 4, 2, 4, 4});
}

TEST_CASE("offsets beyond 2^31 bytes are addressed") {
  std::byte one{};
  const_rows const rows{&one, 2, 1, std::ptrdiff_t{5} << 32};
  CHECK(rows.row(0) == &one);
  CHECK(const_rows{&one, std::ptrdiff_t{3} << 20, std::ptrdiff_t{1} << 20, 0}.bytes() == std::ptrdiff_t{3} << 40);
}

}  // namespace
