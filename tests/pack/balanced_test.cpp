#include "support/packs.hpp"
#include "support/printing.hpp"

#include <libra/core/random.hpp>
#include <libra/core/wide.hpp>
#include <libra/pack/balanced.hpp>
#include <libra/pack/best_fit_decreasing.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

namespace {

using libra::balanced;
using libra::document_id;
using libra::int128;
using libra::overlong;
using libra::packing;
using libra::segment;
using libra::test::naive_sequence;
using libra::test::rows_of;
using rows = libra::test::pack_rows;

static_assert(std::is_trivially_copyable_v<balanced>);

template <class Segments>
int128 pairs_of(Segments const& row) {
  int128 pairs = 0;
  for (segment const& s : row) {
    pairs += int128{s.length} * (s.length + 1) / 2;
  }
  return pairs;
}

/// The open sequence with the least work that holds the piece, unless one that is not opened yet has less.
struct lightest {
  std::size_t sequences;

  naive_sequence* operator()(std::vector<naive_sequence>& open, std::int64_t length) const {
    if (open.size() < sequences) {
      return nullptr;
    }
    naive_sequence* best = nullptr;
    for (naive_sequence& o : open) {
      if (o.room >= length && (best == nullptr || pairs_of(o.pieces) < pairs_of(best->pieces))) {
        best = &o;
      }
    }
    return best;
  }
};

TEST_CASE("by hand: the long document gets the least company") {
  std::vector<std::int64_t> const lengths{6, 4, 2, 4, 2, 2};
  // Two sequences of 10: 6 (21 pairs) and 4 (10), 4 joins the second (20), so does 2 (23); then 2 and 2 the first.
  CHECK(rows_of(balanced{}(lengths, 10)) ==
        rows{{{document_id(0), 0, 6}, {document_id(4), 0, 2}, {document_id(5), 0, 2}},
             {{document_id(1), 0, 4}, {document_id(3), 0, 4}, {document_id(2), 0, 2}}});
}

TEST_CASE("a sequence without room for a long piece takes a shorter one later") {
  std::vector<std::int64_t> const lengths{7, 5, 5, 3};
  // 20 tokens need two; 5 fits beside 5 only; 3 fits the first only, which has more work.
  CHECK(rows_of(balanced{}(lengths, 10)) ==
        rows{{{document_id(0), 0, 7}, {document_id(3), 0, 3}}, {{document_id(1), 0, 5}, {document_id(2), 0, 5}}});
}

TEST_CASE("agrees with the naive algorithm, numbering and order included") {
  libra::random_bits bits(72);
  for (int i = 0; i < 1500; ++i) {
    std::int64_t const window = bits.between(1, 60);
    std::vector<std::int64_t> lengths(bits.below(50));
    std::int64_t const most = bits.between(1, window * 2);
    for (std::int64_t& length : lengths) {
      length = bits.between(1, most);
    }
    CAPTURE(i);
    std::int64_t const tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    auto const least = static_cast<std::size_t>((tokens + window - 1) / window);
    REQUIRE(rows_of(balanced{}(lengths, window)) == libra::test::pack_naively(lengths, window, lightest{least}));
  }
}

TEST_CASE("evens out the work of a long-tailed list without using more sequences") {
  libra::random_bits bits(73);
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 5000; ++i) {
    lengths.push_back(std::min<std::int64_t>(300, 5000 / bits.between(5, 1000)));
  }
  auto const heaviest = [](packing const& packed) {
    int128 most = 0;
    for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
      most = std::max(most, pairs_of(packed.sequences[s]));
    }
    return most;
  };
  packing const evened = balanced{}(lengths, 1000);
  packing const fullest = libra::best_fit_decreasing{}(lengths, 1000);
  CHECK(evened.sequences.size() == fullest.sequences.size());
  CHECK(heaviest(evened) * 2 < heaviest(fullest));
}

TEST_CASE("overlong documents go the way that was chosen, bad ones are refused") {
  std::vector<std::int64_t> const lengths{3, 25};
  CHECK(balanced{}(lengths, 10).split_documents == 1);
  CHECK(balanced{overlong::truncate}(lengths, 10).truncated_tokens == 15);
  CHECK_THROWS_WITH_AS(static_cast<void>(balanced{overlong::reject}(lengths, 10)),
                       "document 1 has 25 tokens, expected at most the window of 10", libra::input_error);
  CHECK(balanced{}({}, 10).sequences.size() == 0);
}

}  // namespace
