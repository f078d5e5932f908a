#include <libra/sample/document_stream.hpp>

#include <support/printing.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using libra::document_id;
using libra::segment;
using list = std::vector<std::int64_t>;

namespace {

std::vector<segment> read(list const& lengths, libra::stream_options const& options, std::int64_t epochs = 1) {
  libra::span_lengths const source(lengths);
  libra::document_stream stream(source, 10, options);
  std::vector<segment> pieces;
  while (auto const piece = stream.next(epochs - 1)) pieces.push_back(*piece);
  return pieces;
}

}  // namespace

TEST_CASE("documents come in pieces of at most a window; empty ones do not come") {
  CHECK(read({5, 0, 23, 10}, {.shuffle = false}) == std::vector<segment>{{document_id(0), 0, 5},
                                                                         {document_id(2), 0, 10},
                                                                         {document_id(2), 10, 10},
                                                                         {document_id(2), 20, 3},
                                                                         {document_id(3), 0, 10}});
  CHECK(read({5, 23}, {.shuffle = false, .when_overlong = libra::overlong::truncate}) ==
        std::vector<segment>{{document_id(0), 0, 5}, {document_id(1), 0, 10}});
  CHECK(read({0, 0}, {}).empty());
}

TEST_CASE("each epoch has an order of its own") {
  list const lengths(50, 1);
  auto const two = read(lengths, {.seed = 3}, 2);
  REQUIRE(two.size() == 100);
  auto const ids = [&](std::size_t first) {
    list all;
    for (std::size_t i = 0; i < 50; ++i) all.push_back(two[first + i].document.value);
    return all;
  };
  list first = ids(0);
  list second = ids(50);
  CHECK(first != second);
  CHECK(read(lengths, {.seed = 3}, 2) == two);
  CHECK(read(lengths, {.seed = 4}, 2) != two);
  std::ranges::sort(first);
  std::ranges::sort(second);
  CHECK(first == second);
  CHECK(std::ranges::adjacent_find(first) == first.end());
}

TEST_CASE("reading goes on from any position") {
  list const lengths{5, 0, 23, 10};
  libra::span_lengths const source(lengths);
  libra::document_stream stream(source, 10, {.seed = 9});
  std::vector<segment> all;
  std::vector<std::pair<std::int64_t, segment>> positions;
  while (auto const piece = stream.next(1)) {
    all.push_back(*piece);
    positions.emplace_back(stream.consumed(), stream.rest());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    libra::document_stream again(source, 10, {.seed = 9});
    again.seek(positions[i].first, positions[i].second);
    std::vector<segment> rest;
    while (auto const piece = again.next(1)) rest.push_back(*piece);
    CHECK(rest == std::vector<segment>(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end()));
  }
}

TEST_CASE("what cannot be read is named, every time it is read") {
  list const lengths{5, -2, 23};
  libra::span_lengths const source(lengths);
  libra::document_stream stream(source, 10, {.shuffle = false, .when_overlong = libra::overlong::reject});
  static_cast<void>(stream.next(0));
  for (int again = 0; again < 2; ++again) {
    CHECK_THROWS_WITH_AS(static_cast<void>(stream.next(0)), "length of document 1 is -2, expected at least 0",
                         libra::input_error);
  }
  stream.seek(2, {});
  CHECK_THROWS_WITH_AS(static_cast<void>(stream.next(0)), "document 2 has 23 tokens, expected at most the window of 10",
                       libra::input_error);
  list const none;
  libra::span_lengths const empty(none);
  CHECK_THROWS_WITH_AS(static_cast<void>(libra::document_stream(empty, 10, {})),
                       "the data set has 0 documents, expected at least 1", libra::input_error);
}
