#pragma once

#include <libra/core/error.hpp>
#include <libra/core/ragged.hpp>
#include <libra/run/agreement.hpp>
#include <libra/run/concept.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace libra {

/// The document lengths of all ranks, for ranks that know only their own; afterwards every rank plans alike.
///
/// All ranks of the transport call it. Shape: one row per rank, by rank; `values()` is the list to plan, document i of
/// rank r being number `offsets()[r] + i`. Units: tokens.
/// Errors: `input_error` on the rank that has a length below 1, naming it; `run_error` from the transport, then also
/// on the others. Complexity: two gatherings; memory of ranks times the longest list.
template <transport Transport>
[[nodiscard]] ragged<std::int64_t> gather_lengths(Transport& transport, std::span<std::int64_t const> mine) {
  auto const bad = std::ranges::find_if(mine, [](std::int64_t length) { return length < 1; });
  if (bad != mine.end()) {
    std::string const text = message("rank ", transport.rank().value, ": length ", bad - mine.begin(), " is ", *bad,
                                     " tokens, expected at least 1");
    transport.abort(text);
    throw input_error(text);
  }
  std::array const count{static_cast<std::uint64_t>(mine.size())};
  std::vector<std::uint64_t> const counts = detail::gathered(transport, count);
  // A gathering brings equally many words of each: the lists are filled up to the longest.
  auto const longest = static_cast<std::size_t>(std::ranges::max(counts));
  std::vector<std::uint64_t> words(longest);
  std::ranges::transform(mine, words.begin(), [](std::int64_t length) { return static_cast<std::uint64_t>(length); });
  std::vector<std::uint64_t> const all = detail::gathered(transport, words);
  ragged<std::int64_t> result;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    for (std::size_t i = 0; i < counts[r]; ++i) {
      result.push_back(static_cast<std::int64_t>(all[r * longest + i]));
    }
    result.close_row();
  }
  return result;
}

}  // namespace libra
