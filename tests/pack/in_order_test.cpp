#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/pack/in_order.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using libra::document_id;
using libra::in_order;
using libra::overlong;
using libra::packing;
using libra::segment;

static_assert(std::is_trivially_copyable_v<in_order>);

std::vector<std::vector<segment>> rows_of(packing const& packed) {
  std::vector<std::vector<segment>> rows;
  for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
    rows.emplace_back(packed.sequences[s].begin(), packed.sequences[s].end());
  }
  return rows;
}

TEST_CASE("documents are concatenated and cut at window edges") {
  std::vector<std::int64_t> const lengths{4, 8, 3, 21, 1};
  packing const packed = in_order{}(lengths, 10);
  using rows = std::vector<std::vector<segment>>;
  CHECK(rows_of(packed) == rows{{{document_id(0), 0, 4}, {document_id(1), 0, 6}},
                                {{document_id(1), 6, 2}, {document_id(2), 0, 3}, {document_id(3), 0, 5}},
                                {{document_id(3), 5, 10}},
                                {{document_id(3), 15, 6}, {document_id(4), 0, 1}}});
  CHECK(packed.window_tokens == 10);
  CHECK(packed.tokens == 37);
  CHECK(packed.padding_tokens() == 3);
  CHECK(packed.split_documents == 2);
  CHECK(packed.truncated_tokens == 0);
}

TEST_CASE("a list that fills its windows exactly has no padding and no empty sequence") {
  std::vector<std::int64_t> const lengths{4, 6, 10, 20};
  packing const packed = in_order{}(lengths, 10);
  CHECK(packed.sequences.size() == 4);
  CHECK(packed.padding_tokens() == 0);
  CHECK(packed.split_documents == 1);
}

TEST_CASE("overlong documents may be truncated or rejected; those that only cross an edge are still split") {
  std::vector<std::int64_t> const lengths{4, 25};
  packing const packed = in_order{overlong::truncate}(lengths, 10);
  using rows = std::vector<std::vector<segment>>;
  CHECK(rows_of(packed) == rows{{{document_id(0), 0, 4}, {document_id(1), 0, 6}}, {{document_id(1), 6, 4}}});
  CHECK(packed.truncated_tokens == 15);
  CHECK(packed.split_documents == 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(in_order{overlong::reject}(lengths, 10)),
                       "document 1 has 25 tokens, expected at most the window of 10", libra::input_error);
  std::vector<std::int64_t> const crossing{4, 9};
  CHECK(in_order{overlong::reject}(crossing, 10).split_documents == 1);
}

TEST_CASE("the stream of tokens is the list's, one token at a time") {
  libra::random_bits bits(6);
  for (int i = 0; i < 300; ++i) {
    std::int64_t const window = bits.between(1, 30);
    std::vector<std::int64_t> lengths(bits.below(20));
    for (std::int64_t& length : lengths) {
      length = bits.between(1, 70);
    }
    packing const packed = in_order{}(lengths, window);
    std::vector<std::pair<std::int64_t, std::int64_t>> expected;
    for (std::size_t d = 0; d < lengths.size(); ++d) {
      for (std::int64_t token = 0; token < lengths[d]; ++token) {
        expected.emplace_back(static_cast<std::int64_t>(d), token);
      }
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> stream;
    for (std::vector<segment> const& row : rows_of(packed)) {
      REQUIRE(stream.size() % static_cast<std::size_t>(window) == 0);  // every row before was full
      REQUIRE_FALSE(row.empty());
      for (segment const& s : row) {
        for (std::int64_t token = s.offset; token < s.offset + s.length; ++token) {
          stream.emplace_back(s.document.value, token);
        }
      }
    }
    REQUIRE(stream == expected);
    REQUIRE(packed.tokens == static_cast<std::int64_t>(expected.size()));
  }
}

TEST_CASE("bad lengths and windows are refused") {
  std::vector<std::int64_t> const zero{3, 0};
  CHECK_THROWS_WITH_AS(static_cast<void>(in_order{}(zero, 10)), "length of document 1 is 0, expected at least 1",
                       libra::input_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(in_order{}(zero, -1)), "window is -1 tokens, expected at least 1",
                       libra::input_error);
}

}  // namespace
