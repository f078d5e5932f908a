#include "support/printing.hpp"

#include <libra/model/packing.hpp>

#include <doctest/doctest.h>

#include <array>
#include <type_traits>

namespace {

using libra::document_id;
using libra::packing;
using libra::segment;

static_assert(std::is_trivially_copyable_v<segment>);

TEST_CASE("padding is what the sequences' windows hold beyond tokens") {
  packing packed;
  CHECK(packed.padding_tokens() == 0);
  packed.window_tokens = 10;
  packed.tokens = 17;
  packed.sequences.push_row(std::array{segment{document_id(0), 0, 10}});
  packed.sequences.push_row(std::array{segment{document_id(0), 10, 3}, segment{document_id(1), 0, 4}});
  CHECK(packed.padding_tokens() == 3);
}

TEST_CASE("padding of a hundred thousand sequences of the largest window") {
  packing packed;
  packed.window_tokens = std::int64_t{1} << 40;
  for (int s = 0; s < 100'000; ++s) {
    packed.sequences.close_row();
  }
  CHECK(packed.padding_tokens() == 100'000 * (std::int64_t{1} << 40));
}

TEST_CASE("packings compare by content") {
  packing a;
  a.sequences.push_row(std::array{segment{document_id(0), 0, 10}});
  packing b = a;
  CHECK(a == b);
  b.sequences[0][0].offset = 1;
  CHECK(a != b);
  b = a;
  b.split_documents = 1;
  CHECK(a != b);
}

}  // namespace
