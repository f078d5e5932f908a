#include "support/printing.hpp"

#include <libra/pack/pieces.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace {

using libra::document_id;
using libra::overlong;
using libra::packing;
using libra::segment;

constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

std::vector<segment> pieces_of(std::vector<std::int64_t> const& lengths, std::int64_t window, overlong when,
                               packing& counts) {
  return libra::window_pieces(lengths, window, when, counts);
}

TEST_CASE("documents that fit stay whole under every choice") {
  std::vector<std::int64_t> const lengths{3, 10, 1};
  for (overlong const when : {overlong::split, overlong::truncate, overlong::reject}) {
    packing counts;
    CHECK(pieces_of(lengths, 10, when, counts) ==
          std::vector<segment>{{document_id(0), 0, 3}, {document_id(1), 0, 10}, {document_id(2), 0, 1}});
    CHECK(counts.tokens == 14);
    CHECK(counts.truncated_tokens == 0);
    CHECK(counts.split_documents == 0);
  }
}

TEST_CASE("split cuts whole windows off the front") {
  packing counts;
  CHECK(pieces_of({25, 20, 11}, 10, overlong::split, counts) == std::vector<segment>{{document_id(0), 0, 10},
                                                                                     {document_id(0), 10, 10},
                                                                                     {document_id(0), 20, 5},
                                                                                     {document_id(1), 0, 10},
                                                                                     {document_id(1), 10, 10},
                                                                                     {document_id(2), 0, 10},
                                                                                     {document_id(2), 10, 1}});
  CHECK(counts.tokens == 56);
  CHECK(counts.split_documents == 3);
  CHECK(counts.truncated_tokens == 0);
}

TEST_CASE("truncate keeps the first window and counts the rest") {
  packing counts;
  CHECK(pieces_of({25, 4, 11}, 10, overlong::truncate, counts) ==
        std::vector<segment>{{document_id(0), 0, 10}, {document_id(1), 0, 4}, {document_id(2), 0, 10}});
  CHECK(counts.tokens == 24);
  CHECK(counts.truncated_tokens == 16);
  CHECK(counts.split_documents == 0);
}

TEST_CASE("reject names the document, its length and the window") {
  packing counts;
  CHECK_THROWS_WITH_AS(static_cast<void>(pieces_of({4, 11}, 10, overlong::reject, counts)),
                       "document 1 has 11 tokens, expected at most the window of 10", libra::input_error);
}

TEST_CASE("lengths that are not positive are refused by index under every choice") {
  for (overlong const when : {overlong::split, overlong::truncate, overlong::reject}) {
    packing counts;
    CHECK_THROWS_WITH_AS(static_cast<void>(pieces_of({4, 0}, 10, when, counts)),
                         "length of document 1 is 0, expected at least 1", libra::input_error);
    CHECK_THROWS_WITH_AS(static_cast<void>(pieces_of({-7, 4}, 10, when, counts)),
                         "length of document 0 is -7, expected at least 1", libra::input_error);
  }
}

TEST_CASE("a window without tokens is refused") {
  packing counts;
  CHECK_THROWS_WITH_AS(static_cast<void>(pieces_of({4}, 0, overlong::split, counts)),
                       "window is 0 tokens, expected at least 1", libra::input_error);
}

TEST_CASE("no documents, no pieces") {
  packing counts;
  CHECK(pieces_of({}, 10, overlong::split, counts).empty());
  CHECK(counts == packing{});
}

TEST_CASE("the longest document and window do not overflow, sums of tokens beyond 64 bits are errors") {
  packing counts;
  constexpr std::int64_t window = std::int64_t{1} << 62;
  CHECK(pieces_of({int64_max}, window, overlong::split, counts) ==
        std::vector<segment>{{document_id(0), 0, window}, {document_id(0), window, window - 1}});
  CHECK(counts.tokens == int64_max);
  CHECK_THROWS_WITH_AS(static_cast<void>(pieces_of({1}, window, overlong::split, counts)),
                       "the sum of packed tokens is 9223372036854775808, beyond the 64 bits it must fit",
                       libra::range_error);
  packing truncated;
  CHECK_THROWS_WITH_AS(static_cast<void>(pieces_of({int64_max, 21}, 10, overlong::truncate, truncated)),
                       "the sum of truncated tokens is 9223372036854775808, beyond the 64 bits it must fit",
                       libra::range_error);
}

}  // namespace
