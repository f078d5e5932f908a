#include "support/printing.hpp"

#include <libra/program/gradient_routes.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

using libra::location;
using libra::rank_id;
using libra::row_range;
using libra::segment_id;
using libra::tensor;
using libra::detail::gradient_piece;
using libra::detail::none;

TEST_CASE("a sum is formed wherever the set of contributors changes, in the order of ranks") {
  std::vector<gradient_piece> pieces;
  auto const add = [&](std::int32_t from, row_range tokens) {
    pieces.push_back({segment_id(0), 0, rank_id(from), 0, none, tokens, tokens.begin, 1, false, {none, none}});
  };
  add(0, {0, 10});
  add(1, {4, 8});
  add(3, {8, 20});
  libra::program out;
  // Piece p of tensor i lies at 1000 * (2 p + i), whatever its tokens.
  list_reduces(
      pieces, 16,
      [&](gradient_piece const& g, std::size_t i) {
        return 1000 * (2 * (&g - pieces.data()) + static_cast<std::int64_t>(i));
      },
      out);
  REQUIRE(out.reduces.size() == 8);
  auto const partials = [&](std::size_t r) {
    std::vector<std::int64_t> bytes;
    for (location const at : out.partials_of(out.reduces[r])) {
      bytes.push_back(at.byte());
    }
    return bytes;
  };
  CHECK(out.reduces[0].what.tokens == row_range{0, 4});
  CHECK(partials(0) == std::vector<std::int64_t>{0});
  CHECK(out.reduces[1].what.tokens == row_range{4, 8});
  CHECK(partials(1) == std::vector<std::int64_t>{4 * 16, 2000});
  CHECK(out.reduces[2].what.tokens == row_range{8, 10});
  CHECK(partials(2) == std::vector<std::int64_t>{8 * 16, 4000});
  CHECK(out.reduces[3].what.tokens == row_range{10, 20});
  CHECK(partials(3) == std::vector<std::int64_t>{4000 + 2 * 16});
  CHECK(out.reduces[3].into == location::home(10));
  CHECK(out.reduces[3].what.what == tensor::dk);
  CHECK(out.reduces[7].what.what == tensor::dv);
  CHECK(partials(7) == std::vector<std::int64_t>{5000 + 2 * 16});
}

TEST_CASE("keys that nobody adds to between two parts are no sum") {
  std::vector<gradient_piece> const pieces{{segment_id(0), 0, rank_id(0), 0, none, {0, 4}, 0, 1, false, {none, none}},
                                           {segment_id(0), 0, rank_id(1), 0, none, {8, 12}, 8, 1, false, {none, none}}};
  libra::program out;
  list_reduces(pieces, 16, [](gradient_piece const&, std::size_t) { return std::int64_t{0}; }, out);
  CHECK(out.reduces.size() == 4);
}

TEST_CASE("what comes whole is no sum of its home's") {
  std::vector<gradient_piece> const pieces{{segment_id(0), 0, rank_id(0), 0, none, {0, 4}, 0, 1, false, {none, none}},
                                           {segment_id(0), 0, rank_id(1), none, 0, {4, 12}, 4, 2, true, {none, none}}};
  libra::program out;
  list_reduces(pieces, 16, [](gradient_piece const&, std::size_t) { return std::int64_t{0}; }, out);
  REQUIRE(out.reduces.size() == 2);
  CHECK(out.reduces[0].what == libra::region{tensor::dk, segment_id(0), 0, 1, {0, 4}});
  CHECK(out.reduces[1].what == libra::region{tensor::dv, segment_id(0), 0, 1, {0, 4}});
}

}  // namespace
