#include "support/printing.hpp"

#include <libra/core/digest.hpp>

#include <doctest/doctest.h>

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

TEST_CASE("digests are ordered and compared by both words") {
  CHECK(digest{1, 2} == digest{1, 2});
  CHECK(digest{1, 2} != digest{1, 3});
  CHECK(digest{1, 9} < digest{2, 0});
  CHECK(digest{1, 1} < digest{1, 2});
}

static_assert(hasher{}.add(1).finish() != hasher{}.add(2).finish());

}  // namespace
