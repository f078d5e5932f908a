#include "support/packs.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/pack/best_fit_decreasing.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

namespace {

using libra::best_fit_decreasing;
using libra::document_id;
using libra::overlong;
using libra::packing;
using libra::segment;

static_assert(std::is_trivially_copyable_v<best_fit_decreasing>);

using libra::test::naive_sequence;
using libra::test::rows_of;
using rows = libra::test::pack_rows;

/// The fullest open sequence with enough room; among equals the one that was opened first.
naive_sequence* fullest(std::vector<naive_sequence>& open, std::int64_t length) {
  naive_sequence* best = nullptr;
  for (naive_sequence& o : open) {
    if (o.room >= length && (best == nullptr || o.room < best->room)) {
      best = &o;
    }
  }
  return best;
}

TEST_CASE("by hand: longest first, each into the fullest that holds it, numbered by the opener's position") {
  std::vector<std::int64_t> const lengths{3, 9, 4, 7, 1, 10, 6};
  packing const packed = best_fit_decreasing{}(lengths, 10);
  // Taken 10 (5), 9 (1), 7 (3), 6 (6), 4 (2), 3 (0), 1 (4): 4 joins 6; 3 joins 7; 1 joins 9.
  CHECK(rows_of(packed) == rows{{{document_id(1), 0, 9}, {document_id(4), 0, 1}},
                                {{document_id(3), 0, 7}, {document_id(0), 0, 3}},
                                {{document_id(5), 0, 10}},
                                {{document_id(6), 0, 6}, {document_id(2), 0, 4}}});
  CHECK(packed.padding_tokens() == 0);
  CHECK(packed.tokens == 40);
}

TEST_CASE("ties: equal documents by position, equal sequences by number") {
  std::vector<std::int64_t> const lengths{6, 6, 2, 2, 2};
  CHECK(rows_of(best_fit_decreasing{}(lengths, 10)) ==
        rows{{{document_id(0), 0, 6}, {document_id(2), 0, 2}, {document_id(3), 0, 2}},
             {{document_id(1), 0, 6}, {document_id(4), 0, 2}}});
}

TEST_CASE("pieces of a split document are numbered by offset") {
  std::vector<std::int64_t> const lengths{3, 25};
  packing const packed = best_fit_decreasing{}(lengths, 10);
  CHECK(rows_of(packed) ==
        rows{{{document_id(1), 0, 10}}, {{document_id(1), 10, 10}}, {{document_id(1), 20, 5}, {document_id(0), 0, 3}}});
  CHECK(packed.split_documents == 1);
}

TEST_CASE("overlong documents are truncated or rejected by choice") {
  std::vector<std::int64_t> const lengths{3, 25};
  packing const packed = best_fit_decreasing{overlong::truncate}(lengths, 10);
  CHECK(rows_of(packed) == rows{{{document_id(0), 0, 3}}, {{document_id(1), 0, 10}}});
  CHECK(packed.truncated_tokens == 15);
  CHECK(packed.tokens == 13);
  CHECK_THROWS_WITH_AS(static_cast<void>(best_fit_decreasing{overlong::reject}(lengths, 10)),
                       "document 1 has 25 tokens, expected at most the window of 10", libra::input_error);
}

TEST_CASE("bad lengths and windows are refused, an empty list packs into nothing") {
  std::vector<std::int64_t> const negative{3, -2};
  CHECK_THROWS_WITH_AS(static_cast<void>(best_fit_decreasing{}(negative, 10)),
                       "length of document 1 is -2, expected at least 1", libra::input_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(best_fit_decreasing{}(negative, 0)), "window is 0 tokens, expected at least 1",
                       libra::input_error);
  packing const packed = best_fit_decreasing{}({}, 10);
  CHECK(packed.sequences.size() == 0);
  CHECK(packed.tokens == 0);
}

TEST_CASE("agrees with the naive algorithm, numbering and order included") {
  libra::random_bits bits(7);
  for (int i = 0; i < 1500; ++i) {
    std::int64_t const window = bits.between(1, 60);
    std::vector<std::int64_t> lengths(bits.below(40));
    std::int64_t const most = bits.between(1, window * 2);
    for (std::int64_t& length : lengths) {
      length = bits.between(1, most);
    }
    CAPTURE(i);
    packing const packed = best_fit_decreasing{}(lengths, window);
    REQUIRE(rows_of(packed) == libra::test::pack_naively(lengths, window, fullest));
    REQUIRE(packed.tokens == std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  }
}

TEST_CASE("never uses more than 11/9 of the fewest sequences, plus one") {
  libra::random_bits bits(8);
  for (int i = 0; i < 400; ++i) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(bits.between(1, 9)));
    for (std::int64_t& length : lengths) {
      length = bits.between(1, 60);
    }
    std::size_t const used = best_fit_decreasing{}(lengths, 60).sequences.size();
    std::size_t const least = libra::test::fewest_windows(lengths, 60);
    REQUIRE(used >= least);
    REQUIRE(used * 9 <= least * 11 + 9);
  }
}

}  // namespace
