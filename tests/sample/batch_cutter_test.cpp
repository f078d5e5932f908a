#include <libra/sample/batch_cutter.hpp>

#include <libra/core/random.hpp>
#include <libra/pack/balanced.hpp>
#include <libra/pack/best_fit_decreasing.hpp>
#include <libra/pack/in_order.hpp>
#include <support/printing.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

using libra::document_id;
using libra::epoch_end;
using libra::segment;
using list = std::vector<std::int64_t>;

namespace {

template <class Packer>
auto cutter(libra::span_lengths const& source, Packer, std::int64_t window, std::int64_t sequences,
            libra::stream_options const& options = {}, epoch_end at_end = epoch_end::pad) {
  auto pack = [window](std::span<std::int64_t const> lengths) { return Packer{}(lengths, window); };
  return libra::batch_cutter<libra::span_lengths, decltype(pack)>(source, pack, window, sequences, options, at_end);
}

list random_lengths(libra::random_bits& bits, std::int64_t window) {
  list lengths;
  std::int64_t const count = bits.between(1, 120);
  std::uint64_t const kind = bits.below(4);
  for (std::int64_t i = 0; i < count; ++i) {
    lengths.push_back(kind == 0   ? window / 2 + 1  // no two fit
                      : kind == 1 ? bits.between(0, window)
                      : kind == 2 ? (bits.below(8) == 0 ? bits.between(1, 7 * window) : bits.between(0, window / 4))
                                  : bits.between(1, 3));
  }
  lengths[0] = std::max<std::int64_t>(lengths[0], 1);
  return lengths;
}

/// Tokens of each document in one epoch, or a failed check: every token must come once, pieces in order.
template <class Cutter>
list tokens_of_epoch(Cutter& cut, std::size_t documents, std::int64_t sequences, std::int64_t window) {
  std::map<std::int64_t, std::vector<segment>> pieces;
  while (auto const batch = cut.next()) {
    CHECK(batch->sequences.size() <= static_cast<std::size_t>(sequences));
    for (std::size_t s = 0; s < batch->sequences.size(); ++s) {
      std::int64_t used = 0;
      for (segment const& p : batch->sequences[s]) {
        used += p.length;
        pieces[p.document.value].push_back(p);
      }
      CHECK(used >= 1);
      CHECK(used <= window);
    }
  }
  list tokens(documents);
  for (auto& [document, parts] : pieces) {
    std::ranges::sort(parts, {}, [](segment const& p) { return p.offset; });
    for (segment const& p : parts) {
      CHECK(p.offset == tokens[static_cast<std::size_t>(document)]);
      tokens[static_cast<std::size_t>(document)] += p.length;
    }
  }
  return tokens;
}

}  // namespace

TEST_CASE("two batches by hand") {
  // Window 10, two sequences. 7 + 6 + 5 + 4 reach 20: packed as {7}, {6, 4}, {5}. The fullest two go.
  list const lengths{7, 6, 5, 4, 9, 3};
  libra::span_lengths const source(lengths);
  auto cut = cutter(source, libra::best_fit_decreasing{}, 10, 2, {.shuffle = false});
  auto const first = cut.next();
  REQUIRE(first.has_value());
  REQUIRE(first->sequences.size() == 2);
  CHECK(first->tokens == 17);
  CHECK(first->sequences[0][0] == segment{document_id(0), 0, 7});
  CHECK(first->sequences[1][0] == segment{document_id(1), 0, 6});
  CHECK(first->sequences[1][1] == segment{document_id(3), 0, 4});
  CHECK(cut.position().carried == std::vector<segment>{{document_id(2), 0, 5}});
  CHECK(cut.position().consumed_samples == 4);
  // Then 5 + 9 + 3: {9}, {5, 3}; the epoch's documents are used up.
  auto const second = cut.next();
  REQUIRE(second.has_value());
  CHECK(second->tokens == 17);
  CHECK(cut.position().carried.empty());
  CHECK(cut.position().batch == 2);
  CHECK(cut.position().consumed_sequences == 4);
  CHECK(!cut.next().has_value());
  CHECK(cut.position().epoch == 1);
  CHECK(cut.next().has_value());
}

TEST_CASE("in order, batches are windows of the concatenated stream") {
  libra::random_bits bits(4);
  for (int round = 0; round < 50; ++round) {
    list lengths = random_lengths(bits, 20);
    std::erase(lengths, 0);
    std::int64_t const sequences = bits.between(1, 4);
    libra::span_lengths const source(lengths);
    libra::packing const whole = libra::in_order{}(lengths, 20);
    auto cut = cutter(source, libra::in_order{}, 20, sequences, {.shuffle = false});
    std::vector<std::vector<segment>> rows;
    while (auto const batch = cut.next()) {
      for (std::size_t s = 0; s < batch->sequences.size(); ++s) {
        rows.emplace_back(batch->sequences[s].begin(), batch->sequences[s].end());
      }
    }
    REQUIRE(rows.size() == whole.sequences.size());
    for (std::size_t s = 0; s < rows.size(); ++s) {
      REQUIRE(rows[s] == std::vector<segment>(whole.sequences[s].begin(), whole.sequences[s].end()));
    }
  }
}

TEST_CASE("nothing is lost or repeated in an epoch") {
  libra::random_bits bits(5);
  for (int round = 0; round < 150; ++round) {
    std::int64_t const window = bits.between(4, 40);
    list const lengths = random_lengths(bits, window);
    std::int64_t const sequences = bits.between(1, 6);
    libra::span_lengths const source(lengths);
    auto best = cutter(source, libra::best_fit_decreasing{}, window, sequences, {.seed = bits()});
    auto in_order = cutter(source, libra::in_order{}, window, sequences, {.seed = bits()});
    auto even = cutter(source, libra::balanced{}, window, sequences, {.seed = bits()});
    for (int epoch = 0; epoch < 2; ++epoch) {
      REQUIRE(tokens_of_epoch(even, lengths.size(), sequences, window) == lengths);
      REQUIRE(tokens_of_epoch(best, lengths.size(), sequences, window) == lengths);
      REQUIRE(tokens_of_epoch(in_order, lengths.size(), sequences, window) == lengths);
      REQUIRE(best.position().carried.empty());
    }
  }
}

TEST_CASE("carried over between epochs, every document comes once an epoch, and no batch is short") {
  libra::random_bits bits(6);
  for (int round = 0; round < 60; ++round) {
    std::int64_t const window = bits.between(4, 40);
    list const lengths = random_lengths(bits, window);
    std::int64_t const sequences = bits.between(1, 4);
    libra::span_lengths const source(lengths);
    auto cut = cutter(source, libra::best_fit_decreasing{}, window, sequences, {.seed = bits()}, epoch_end::carry);
    // Tokens yielded and tokens on the way are those of the documents read.
    list tokens(lengths.size());
    for (int epoch = 0; epoch < 4; ++epoch) {
      while (auto const batch = cut.next()) {
        REQUIRE(batch->sequences.size() == static_cast<std::size_t>(sequences));
        for (segment const& p : batch->sequences.values()) tokens[p.document.index()] += p.length;
      }
      REQUIRE(cut.position().consumed_samples <= (epoch + 1) * static_cast<std::int64_t>(lengths.size()));
    }
    for (segment const& p : cut.position().carried) tokens[p.document.index()] += p.length;
    tokens[cut.position().rest.document.index()] += cut.position().rest.length;
    std::int64_t const epochs = cut.position().consumed_samples / static_cast<std::int64_t>(lengths.size());
    for (std::size_t d = 0; d < lengths.size(); ++d) {
      REQUIRE(tokens[d] >= epochs * lengths[d]);
      REQUIRE(tokens[d] <= (epochs + 1) * lengths[d]);
    }
  }
}

TEST_CASE("what is carried fits one batch and is not carried twice") {
  libra::random_bits bits(7);
  for (int round = 0; round < 200; ++round) {
    std::int64_t const window = bits.between(4, 40);
    list const lengths = random_lengths(bits, window);
    std::int64_t const sequences = bits.between(1, 6);
    libra::span_lengths const source(lengths);
    auto cut = cutter(source, libra::best_fit_decreasing{}, window, sequences, {.seed = bits()});
    auto const key = [](segment const& p) { return std::tuple(p.document.value, p.offset); };
    std::vector<segment> before;
    while (cut.next()) {
      std::vector<segment> const& carried = cut.position().carried;
      list carried_lengths;
      for (segment const& p : carried) carried_lengths.push_back(p.length);
      REQUIRE(libra::best_fit_decreasing{}(carried_lengths, window).sequences.size() <=
              static_cast<std::size_t>(sequences));
      for (segment const& p : carried) {
        REQUIRE(std::ranges::none_of(before, [&](segment const& q) { return key(p) == key(q); }));
      }
      before = carried;
    }
  }
}

TEST_CASE("carried documents that would scatter over too many sequences stay together") {
  // Window 10, one sequence. {10} goes and {1, 1} is carried, which 7 and 9 would take apart: {9, 1}, {7, 1}.
  list const lengths{1, 1, 10, 7, 9};
  libra::span_lengths const source(lengths);
  auto cut = cutter(source, libra::best_fit_decreasing{}, 10, 1, {.shuffle = false});
  CHECK(cut.next()->tokens == 10);
  CHECK(cut.position().carried.size() == 2);
  CHECK(cut.next()->tokens == 2);
  // Nothing else was read.
  CHECK(cut.position().carried.empty());
  CHECK(cut.position().consumed_samples == 3);
  CHECK(cut.next()->tokens == 9);
  CHECK(cut.next()->tokens == 7);
  CHECK(!cut.next().has_value());
}

TEST_CASE("dropped: only whole batches, and an error when there is none") {
  list const lengths{7, 7, 7, 7, 7};
  libra::span_lengths const source(lengths);
  auto cut = cutter(source, libra::best_fit_decreasing{}, 10, 2, {.shuffle = false}, epoch_end::drop);
  for (int epoch = 0; epoch < 2; ++epoch) {
    CHECK(cut.next()->sequences.size() == 2);
    CHECK(cut.next()->sequences.size() == 2);
    CHECK(!cut.next().has_value());
    CHECK(cut.position().carried.empty());
    CHECK(cut.position().consumed_samples == 5 * (epoch + 1));
  }
  auto large = cutter(source, libra::best_fit_decreasing{}, 10, 6, {}, epoch_end::drop);
  CHECK_THROWS_WITH_AS(static_cast<void>(large.next()),
                       "the data set packs into 5 sequences, expected at least dp * micro_steps = 6 where incomplete "
                       "batches are dropped",
                       libra::input_error);
  list const zeros{0, 0};
  libra::span_lengths const empty(zeros);
  for (epoch_end const end : {epoch_end::pad, epoch_end::drop, epoch_end::carry}) {
    auto none = cutter(empty, libra::best_fit_decreasing{}, 10, 2, {}, end);
    CHECK_THROWS_WITH_AS(static_cast<void>(none.next()), "none of 2 documents has tokens, expected at least one",
                         libra::input_error);
  }
}

TEST_CASE("a document of several batches is cut at their ends") {
  list const lengths{3, 95, 4};
  libra::span_lengths const source(lengths);
  auto cut = cutter(source, libra::best_fit_decreasing{}, 10, 2, {.shuffle = false});
  REQUIRE(tokens_of_epoch(cut, lengths.size(), 2, 10) == lengths);
  cut.seek({});
  static_cast<void>(cut.next());
  CHECK(cut.position().consumed_samples == 2);
  CHECK(cut.position().rest.document == document_id(1));
}
