#pragma once

#include <libra/core/checked.hpp>
#include <libra/core/error.hpp>
#include <libra/core/wide.hpp>
#include <libra/io/json_writer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra {

/// What the documents longer than a threshold hold, as shares of the whole list.
struct length_share {
  std::int64_t over_tokens{};
  double documents{};
  double tokens{};
  double squares{};
};

/// Statistics of a list of document lengths. Percentiles are nearest-rank; shares count strictly longer documents.
struct lengths_report {
  std::int64_t count{};
  int128 tokens{};
  int128 sum_squares{};
  std::int64_t min{};
  double mean{};
  std::int64_t p50{}, p90{}, p99{}, p999{};
  std::int64_t max{};
  std::array<length_share, 4> share_over{};
};

/// Complexity: O(n log n). Errors: `input_error` for an empty list, `range_error` when a sum exceeds 128 bits.
[[nodiscard]] inline lengths_report report_lengths(std::span<std::int64_t const> lengths) {
  require(!lengths.empty(), "the list holds no lengths, expected at least one");
  std::vector<std::int64_t> sorted(lengths.begin(), lengths.end());
  std::ranges::sort(sorted);

  auto const total = [](auto first, auto last) {
    struct sums {
      int128 documents{}, tokens{}, squares{};
    } all;
    for (; first != last; ++first) {
      ++all.documents;
      all.tokens = checked_add(all.tokens, *first);
      all.squares = checked_add(all.squares, static_cast<int128>(*first) * *first);
    }
    return all;
  };
  // The smallest value with at least `per_mille` thousandths of the list at or below it.
  auto const percentile = [&](int128 per_mille) {
    auto const rank = static_cast<std::size_t>(ceil_div(static_cast<int128>(sorted.size()) * per_mille, 1000));
    return sorted[rank - 1];
  };

  auto const all = total(sorted.begin(), sorted.end());
  lengths_report report{
      .count = static_cast<std::int64_t>(sorted.size()),
      .tokens = all.tokens,
      .sum_squares = all.squares,
      .min = sorted.front(),
      .mean = ratio(all.tokens, all.documents),
      .p50 = percentile(500),
      .p90 = percentile(900),
      .p99 = percentile(990),
      .p999 = percentile(999),
      .max = sorted.back(),
  };
  constexpr std::array<std::int64_t, 4> thresholds{std::int64_t{1} << 15, std::int64_t{1} << 17, std::int64_t{1} << 18,
                                                   std::int64_t{1} << 20};
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    auto const over = total(std::ranges::upper_bound(sorted, thresholds[i]), sorted.end());
    report.share_over[i] = {.over_tokens = thresholds[i],
                            .documents = ratio(over.documents, all.documents),
                            .tokens = ratio(over.tokens, all.tokens),
                            .squares = ratio(over.squares, all.squares)};
  }
  return report;
}

/// Writes the report's members into the object that is open.
inline void write_members(json_writer& json, lengths_report const& report) {
  json.member("count", report.count);
  json.member("tokens", report.tokens);
  json.member("sum_squares", report.sum_squares);
  json.member("min", report.min);
  json.member("mean", report.mean);
  json.member("p50", report.p50);
  json.member("p90", report.p90);
  json.member("p99", report.p99);
  json.member("p999", report.p999);
  json.member("max", report.max);
  json.array("share_over", [&] {
    for (length_share const& s : report.share_over) {
      json.row(s.over_tokens, s.documents, s.tokens, s.squares);
    }
  });
}

}  // namespace libra
