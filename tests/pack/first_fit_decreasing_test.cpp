#include "support/packs.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/pack/first_fit_decreasing.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace {

using libra::document_id;
using libra::first_fit_decreasing;
using libra::overlong;
using libra::test::naive_sequence;
using libra::test::rows_of;
using rows = libra::test::pack_rows;

static_assert(std::is_trivially_copyable_v<first_fit_decreasing>);

naive_sequence* earliest(std::vector<naive_sequence>& open, std::int64_t length) {
  for (naive_sequence& o : open) {
    if (o.room >= length) {
      return &o;
    }
  }
  return nullptr;
}

TEST_CASE("by hand: the sequence that was opened first takes it, though another would be fuller") {
  std::vector<std::int64_t> const lengths{6, 7, 3, 2};
  // 7 opens, 6 opens; 3 fits the first, which is full then; 2 goes to the second.
  CHECK(rows_of(first_fit_decreasing{}(lengths, 10)) ==
        rows{{{document_id(0), 0, 6}, {document_id(3), 0, 2}}, {{document_id(1), 0, 7}, {document_id(2), 0, 3}}});
  std::vector<std::int64_t> const best_fit_differs{6, 5, 4, 4};
  CHECK(rows_of(first_fit_decreasing{}(best_fit_differs, 12)) ==
        rows{{{document_id(0), 0, 6}, {document_id(1), 0, 5}}, {{document_id(2), 0, 4}, {document_id(3), 0, 4}}});
}

TEST_CASE("agrees with the naive algorithm, numbering and order included") {
  libra::random_bits bits(71);
  for (int i = 0; i < 1500; ++i) {
    std::int64_t const window = bits.between(1, 60);
    std::vector<std::int64_t> lengths(bits.below(60));
    std::int64_t const most = bits.between(1, window * 2);
    for (std::int64_t& length : lengths) {
      length = bits.between(1, most);
    }
    CAPTURE(i);
    REQUIRE(rows_of(first_fit_decreasing{}(lengths, window)) == libra::test::pack_naively(lengths, window, earliest));
  }
}

TEST_CASE("overlong documents go the way that was chosen, bad ones are refused") {
  std::vector<std::int64_t> const lengths{3, 25};
  CHECK(first_fit_decreasing{}(lengths, 10).split_documents == 1);
  CHECK(first_fit_decreasing{overlong::truncate}(lengths, 10).truncated_tokens == 15);
  CHECK_THROWS_WITH_AS(static_cast<void>(first_fit_decreasing{overlong::reject}(lengths, 10)),
                       "document 1 has 25 tokens, expected at most the window of 10", libra::input_error);
  CHECK(first_fit_decreasing{}({}, 10).sequences.size() == 0);
}

}  // namespace
