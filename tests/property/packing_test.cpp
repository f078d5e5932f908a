#include "support/printing.hpp"
#include "support/random_cases.hpp"

#include <libra/model/home.hpp>
#include <libra/pack/bin_bound.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

// Invariant 1: packing keeps every token exactly once, or says what it truncated; each document's tokens stay in order;
// the window is never exceeded.

namespace {

using libra::overlong;
using libra::packing;
using libra::segment;
using libra::test::planning_case;

/// What is wrong with a packing of the case's lengths, or nothing.
std::string packing_error(planning_case const& c, packing const& packed) {
  std::int64_t const window = c.layout.window_tokens;
  std::vector<std::vector<segment>> of_document(c.lengths.size());
  std::int64_t tokens = 0;
  for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
    std::int64_t used = 0;
    if (packed.sequences[s].empty()) {
      return libra::message("sequence ", s, " is empty");
    }
    for (segment const& piece : packed.sequences[s]) {
      if (piece.length < 1 || piece.document.index() >= c.lengths.size()) {
        return libra::message("sequence ", s, " holds ", piece.length, " tokens of document ", piece.document.value);
      }
      of_document[piece.document.index()].push_back(piece);
      used += piece.length;
    }
    if (used > window) {
      return libra::message("sequence ", s, " holds ", used, " tokens");
    }
    tokens += used;
  }
  std::int64_t truncated = 0;
  std::int64_t split = 0;
  for (std::size_t d = 0; d < c.lengths.size(); ++d) {
    std::ranges::sort(of_document[d], {}, &segment::offset);
    std::int64_t next = 0;
    for (segment const& piece : of_document[d]) {
      if (piece.offset != next) {
        return libra::message("document ", d, " has a gap or an overlap at ", next);
      }
      next += piece.length;
    }
    bool const cut = c.when_overlong == overlong::truncate && c.lengths[d] > window;
    if (next != (cut ? window : c.lengths[d])) {
      return libra::message("document ", d, " has ", next, " of its ", c.lengths[d], " tokens");
    }
    truncated += c.lengths[d] - next;
    split += of_document[d].size() > 1 ? 1 : 0;
  }
  if (packed.window_tokens != window || packed.tokens != tokens || packed.truncated_tokens != truncated ||
      packed.split_documents != split) {
    return "the packing's counts are wrong";
  }
  return {};
}

/// Whether sequences are numbered by the document, then offset, of the piece that opened them. Pre: as packed.
bool numbered_by_opener(packing const& packed) {
  std::pair<std::int64_t, std::int64_t> last{-1, 0};
  for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
    segment const& opener = packed.sequences[s].front();
    std::pair const now{opener.document.value, opener.offset};
    if (now <= last) {
      return false;
    }
    last = now;
  }
  return true;
}

TEST_CASE("every token once, in order, within the window, under every packer and choice") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    planning_case const c = libra::test::random_case(seed);
    INFO(c.describe());
    packing const packed = c.pack(c.lengths, c.layout.window_tokens);
    REQUIRE(packing_error(c, packed) == "");
    REQUIRE(numbered_by_opener(packed));
    packing const arranged = c.make_scheduler().pack(c.lengths, c.layout, c.options);
    REQUIRE(packing_error(c, arranged) == "");
    REQUIRE(arranged.sequences.size() == packed.sequences.size());
    for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
      REQUIRE(std::ranges::is_permutation(arranged.sequences[s], packed.sequences[s]));
    }
  }
}

TEST_CASE("a document above the window is rejected by index, under every packer") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    planning_case c = libra::test::random_case(seed);
    INFO(c.describe());
    libra::random_bits bits(seed);
    std::visit([](auto& p) { p.when_overlong = overlong::reject; }, c.pack.policy);
    for (std::int64_t& length : c.lengths) {
      length = std::min(length, c.layout.window_tokens);
    }
    auto const bad = static_cast<std::size_t>(bits.below(c.lengths.size()));
    c.lengths[bad] = c.layout.window_tokens + 1;
    REQUIRE_THROWS_WITH_AS(static_cast<void>(c.pack(c.lengths, c.layout.window_tokens)),
                           libra::message("document ", bad, " has ", c.layout.window_tokens + 1,
                                          " tokens, expected at most the window of ", c.layout.window_tokens)
                               .c_str(),
                           libra::input_error);
  }
}

TEST_CASE(
    "the order of the list does not change which lengths share a sequence under packers that take the longest first") {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    planning_case c = libra::test::random_case(seed);
    INFO(c.describe());
    auto const rows = [&] {
      std::vector<std::vector<std::int64_t>> all;
      packing const packed = c.pack(c.lengths, c.layout.window_tokens);
      for (std::size_t s = 0; s < packed.sequences.size(); ++s) {
        std::vector<std::int64_t>& row = all.emplace_back();
        std::ranges::transform(packed.sequences[s], std::back_inserter(row), &segment::length);
      }
      std::ranges::sort(all);
      return all;
    };
    for (auto const& packer :
         {libra::test::some_packer{libra::best_fit_decreasing{}},
          libra::test::some_packer{libra::first_fit_decreasing{}}, libra::test::some_packer{libra::balanced{}}}) {
      c.pack = packer;
      auto const before = rows();
      std::vector<std::int64_t> const as_listed = c.lengths;
      libra::random_bits bits(seed);
      libra::shuffle(std::span(c.lengths), bits);
      REQUIRE(rows() == before);
      c.lengths = as_listed;
    }
  }
}

TEST_CASE("no packer uses fewer sequences than the bound of its own segments, or than the tokens need") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    planning_case const c = libra::test::random_case(seed);
    INFO(c.describe());
    packing const packed = c.pack(c.lengths, c.layout.window_tokens);
    std::int64_t const least = libra::bin_lower_bound(packed);
    REQUIRE(least <= static_cast<std::int64_t>(packed.sequences.size()));
    REQUIRE(least * c.layout.window_tokens >= packed.tokens);
  }
}

}  // namespace
