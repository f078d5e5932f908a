#include "documents.hpp"

#include <libra/core/error.hpp>
#include <libra/core/random.hpp>
#include <libra/core/wide.hpp>
#include <libra/io/lengths.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace libra::tools {
namespace {

/// Sequences are numbered by 32-bit integers, and a plan of more than this many would not be looked at by anyone.
constexpr std::int64_t most_sequences = std::int64_t{1} << 24;

void check_size(documents const& docs, configuration const& config) {
  std::int64_t const window = config.layout.window_tokens;
  int128 given = 0;
  int128 tokens = 0;
  for (std::size_t i = 0; i < docs.lengths.size(); ++i) {
    std::int64_t const length = docs.lengths[i];
    require(length <= window || config.when_overlong != overlong::reject, "document ",
            docs.index.empty() ? static_cast<std::int64_t>(i) : docs.index[i], " has ", length,
            " tokens, expected at most --window ", window, " (--overlong reject)");
    given += length;
    tokens += config.when_overlong == overlong::truncate ? std::min(length, window) : length;
  }
  require(fits_int64(given), "the list holds ", given, " tokens, expected at most 9223372036854775807");
  int128 const sequences = ceil_div(tokens, window);
  require(sequences <= most_sequences, "the list holds ", tokens, " tokens, at least ", sequences,
          " sequences of --window ", window, ", expected at most ", most_sequences);
}

}  // namespace

documents load_documents(input_options const& input, configuration const& config, std::int64_t shrink) {
  length_list list = read_lengths(input.lengths, input.reading());
  auto const given = static_cast<std::int64_t>(list.lengths.size());
  documents docs{.lengths = std::move(list.lengths), .index = {}, .given = given, .empty = list.empty_documents};
  require(docs.empty < docs.given, "all ", docs.given,
          " documents have length 0, expected at least one that has tokens");

  bool const shuffled = config.order == document_order::shuffle;
  if (shuffled || docs.empty > 0) {
    for (std::size_t i = 0; i < docs.lengths.size(); ++i) {
      if (docs.lengths[i] > 0) docs.index.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (shuffled) {
    random_bits bits(config.seed);
    shuffle(std::span(docs.index), bits);
  }
  if (!docs.index.empty()) {
    std::vector<std::int64_t> ordered;
    ordered.reserve(docs.index.size());
    for (std::int64_t const i : docs.index) {
      ordered.push_back(docs.lengths[static_cast<std::size_t>(i)]);
    }
    docs.lengths = std::move(ordered);
  }
  for (std::int64_t& length : docs.lengths) {
    length = (length - 1) / shrink + 1;
  }
  check_size(docs, config);
  return docs;
}

}  // namespace libra::tools
