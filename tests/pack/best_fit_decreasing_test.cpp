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

using rows = std::vector<std::vector<segment>>;

rows rows_of(packing const& packed) {
  rows all;
  for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
    all.emplace_back(packed.sequences[s].begin(), packed.sequences[s].end());
  }
  return all;
}

/// The definition, without any search structure.
rows naive(std::span<std::int64_t const> lengths, std::int64_t window) {
  struct open_sequence {
    std::size_t opener{};
    std::int64_t room{};
    std::vector<segment> pieces;
  };
  std::vector<segment> pieces;
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    for (std::int64_t at = 0; at < lengths[d]; at += window) {
      pieces.push_back({document_id(d), at, std::min(window, lengths[d] - at)});
    }
  }
  std::vector<bool> taken(pieces.size());
  std::vector<open_sequence> open;
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    std::size_t next = pieces.size();
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      if (!taken[p] && (next == pieces.size() || pieces[p].length > pieces[next].length)) {
        next = p;
      }
    }
    taken[next] = true;
    open_sequence* fullest = nullptr;
    for (open_sequence& o : open) {
      if (o.room >= pieces[next].length && (fullest == nullptr || o.room < fullest->room)) {
        fullest = &o;
      }
    }
    if (fullest == nullptr) {
      fullest = &open.emplace_back(open_sequence{next, window, {}});
    }
    fullest->room -= pieces[next].length;
    fullest->pieces.push_back(pieces[next]);
  }
  std::ranges::sort(open, {}, &open_sequence::opener);
  rows all;
  for (open_sequence& o : open) {
    all.push_back(o.pieces);
  }
  return all;
}

/// The fewest windows that hold the lengths, by trying every assignment.
std::size_t fewest(std::span<std::int64_t const> lengths, std::int64_t window) {
  std::size_t best = lengths.size();
  std::vector<std::int64_t> used;
  auto const place = [&](auto const& self, std::size_t i) -> void {
    if (used.size() >= best) {
      return;
    }
    if (i == lengths.size()) {
      best = used.size();
      return;
    }
    for (std::size_t s = 0; s < used.size(); ++s) {
      if (used[s] + lengths[i] <= window) {
        used[s] += lengths[i];
        self(self, i + 1);
        used[s] -= lengths[i];
      }
    }
    used.push_back(lengths[i]);
    self(self, i + 1);
    used.pop_back();
  };
  place(place, 0);
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
    REQUIRE(rows_of(packed) == naive(lengths, window));
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
    std::size_t const least = fewest(lengths, 60);
    REQUIRE(used >= least);
    REQUIRE(used * 9 <= least * 11 + 9);
  }
}

}  // namespace
