#include "support/printing.hpp"

#include <libra/core/digest.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using libra::digest;
using libra::hasher;

static_assert(std::is_trivially_copyable_v<digest> && sizeof(digest) == 16);

TEST_CASE("hexadecimal digits, high word first, zeros kept") {
  CHECK(libra::to_hex({}) == "00000000000000000000000000000000");
  CHECK(libra::to_hex({0x0123456789abcdef, 0xf}) == "0123456789abcdef000000000000000f");
  CHECK(libra::to_hex({~std::uint64_t{0}, ~std::uint64_t{0}}) == "ffffffffffffffffffffffffffffffff");
}

// Golden values: computed by an independent program. Regenerate them only with a deliberate change of the hash, which
// changes every fingerprint and must be said in the changelog.
TEST_CASE("golden digests") {
  CHECK(to_hex(hasher{}.finish()) == "d384ffab7559412acd8e9833517351cd");
  CHECK(to_hex(hasher{}.add(1).add(2).add(3).finish()) == "d224ff742585b9af1fc9df71b5538fbe");
  CHECK(to_hex(hasher{}.add(-1).finish()) == "4bfafe7212492b7bd84f35a1482e9845");
  CHECK(to_hex(hasher{}.add("libra").finish()) == "1342131786e3a05e1e6799390e6f6087");
  CHECK(to_hex(hasher{}.add(1, 2).finish()) == "f19661d983a1f15e9b4d754ee72c7b0d");
  CHECK(to_hex(hasher{}.add(1, 2, 3).finish()) == "1434214648692e8e32b9de83eda118a9");
  CHECK(to_hex(hasher{}.add(-1, 0, 7, 9).add(5, 5).finish()) == "dfb7b83b59ccc394f02eec6f38881cda");
  libra::int128 wide = -1;
  for (int i = 0; i < 30; ++i) {
    wide *= 10;
  }
  CHECK(to_hex(hasher{}.add(wide).finish()) == "1868519017bf122670b380c770ce4744");
}

TEST_CASE("the width of an integer does not matter, its value and place do") {
  CHECK(hasher{}.add(std::int8_t{-3}).finish() == hasher{}.add(std::int64_t{-3}).finish());
  CHECK(hasher{}.add(std::uint8_t{3}).finish() == hasher{}.add(std::int32_t{3}).finish());
  CHECK(hasher{}.add(1).add(2).finish() != hasher{}.add(2).add(1).finish());
  CHECK(hasher{}.add(0).finish() != hasher{}.finish());
  CHECK(hasher{}.add(0).add(0).finish() != hasher{}.add(0).finish());
}

TEST_CASE("the fields of a record count by value and place, and so does where it ends") {
  digest const d = hasher{}.add(1, 2, 3).finish();
  CHECK(hasher{}.add(std::uint8_t{1}, std::int64_t{2}, 3).finish() == d);
  CHECK(hasher{}.add(2, 1, 3).finish() != d);
  CHECK(hasher{}.add(3, 2, 1).finish() != d);
  CHECK(hasher{}.add(1, 2, 3, 0).finish() != d);
  CHECK(hasher{}.add(1, 2).add(3).finish() != d);
  CHECK(hasher{}.add(1).add(2).add(3).finish() != d);
}

TEST_CASE("texts do not run into each other") {
  CHECK(hasher{}.add("ab").add("c").finish() != hasher{}.add("a").add("bc").finish());
  CHECK(hasher{}.add("").add("a").finish() != hasher{}.add("a").add("").finish());
  CHECK(hasher{}.add("\xff").finish() == hasher{}.add(std::string(1, '\xff')).finish());
}

TEST_CASE("both halves of wide integers and of digests count") {
  auto const wide = [](int high, int low) { return (static_cast<libra::int128>(high) << 64) + low; };
  CHECK(hasher{}.add(wide(1, 2)).finish() != hasher{}.add(wide(0, 2)).finish());
  CHECK(hasher{}.add(wide(1, 2)).finish() != hasher{}.add(wide(2, 1)).finish());
  CHECK(hasher{}.add(digest{1, 2}).finish() != hasher{}.add(digest{2, 1}).finish());
}

TEST_CASE("a hundred thousand near inputs give as many digests, and words") {
  std::set<std::uint64_t> high;
  std::set<std::uint64_t> low;
  for (int a = 0; a < 100; ++a) {
    for (int b = 0; b < 1000; ++b) {
      digest const d = hasher{}.add(a).add(b).finish();
      high.insert(d.high);
      low.insert(d.low);
    }
  }
  CHECK(high.size() == 100'000);
  CHECK(low.size() == 100'000);
}

TEST_CASE("so do records that differ in any field, or in two") {
  std::set<std::uint64_t> high;
  std::set<std::uint64_t> low;
  for (int field = 0; field < 6; ++field) {
    for (int a = 0; a < 100; ++a) {
      for (int b = 1; b < 100; ++b) {
        std::array<std::int64_t, 7> f{4, 0, 0, 1, 128, 256, 4096};
        f[static_cast<std::size_t>(field)] += a;
        f[static_cast<std::size_t>(field) + 1] += std::int64_t{b} << 10;
        digest const d = hasher{}.add(f[0], f[1], f[2], f[3], f[4], f[5], f[6]).finish();
        high.insert(d.high);
        low.insert(d.low);
      }
    }
  }
  CHECK(high.size() == 6 * 100 * 99);
  CHECK(low.size() == 6 * 100 * 99);
}

TEST_CASE("digests are ordered and compared by both words") {
  CHECK(digest{1, 2} == digest{1, 2});
  CHECK(digest{1, 2} != digest{1, 3});
  CHECK(digest{1, 9} < digest{2, 0});
  CHECK(digest{1, 1} < digest{1, 2});
}

static_assert(hasher{}.add(1).finish() != hasher{}.add(2).finish());

}  // namespace
