#include <libra/io/lengths_report.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using libra::int128;
using libra::lengths_report;
using libra::report_lengths;
using lengths = std::vector<std::int64_t>;

TEST_CASE("percentiles are nearest-rank") {
  lengths list(1000);
  std::iota(list.rbegin(), list.rend(), 1);
  lengths_report const report = report_lengths(list);
  CHECK(report.count == 1000);
  CHECK(report.tokens == 500500);
  CHECK(report.sum_squares == 333833500);
  CHECK(report.min == 1);
  CHECK(report.mean == 500.5);
  CHECK(report.p50 == 500);
  CHECK(report.p90 == 900);
  CHECK(report.p99 == 990);
  CHECK(report.p999 == 999);
  CHECK(report.max == 1000);

  lengths_report const three = report_lengths(lengths{30, 10, 20});
  CHECK(three.p50 == 20);
  CHECK(three.p90 == 30);
  lengths_report const one = report_lengths(lengths{7});
  CHECK(one.p50 == 7);
  CHECK(one.p999 == 7);
}

TEST_CASE("shares count strictly longer documents") {
  lengths_report const report = report_lengths(lengths{32768, 32769, 131072, 1048577});
  CHECK(report.share_over[0].over_tokens == 32768);
  CHECK(report.share_over[0].documents == 0.75);
  CHECK(report.share_over[1].over_tokens == 131072);
  CHECK(report.share_over[1].documents == 0.25);
  CHECK(report.share_over[3].over_tokens == 1048576);
  CHECK(report.share_over[3].tokens == doctest::Approx(1048577.0 / (32768 + 32769 + 131072 + 1048577)));
}

TEST_CASE("squares beyond 64 bits are exact, beyond 128 bits an error") {
  std::int64_t const huge = INT64_MAX;
  lengths_report const report = report_lengths(lengths{huge, 1});
  CHECK(report.sum_squares == static_cast<int128>(huge) * huge + 1);
  CHECK_THROWS_AS(static_cast<void>(report_lengths(lengths{huge, huge, huge})), libra::range_error);
  CHECK_THROWS_AS(static_cast<void>(report_lengths(lengths{})), libra::input_error);
}

TEST_CASE("the report has the contract's members in its order") {
  std::string text;
  libra::json_writer json(text);
  json.object([&] { write_members(json, report_lengths(lengths{5, 5, 70000})); });
  auto const read = nlohmann::ordered_json::parse(text);
  std::vector<std::string> keys;
  for (auto const& [key, value] : read.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"count", "tokens", "sum_squares", "min", "mean", "p50", "p90", "p99", "p999",
                                         "max", "share_over"});
  CHECK(read["share_over"].size() == 4);
  CHECK(read["share_over"][0][0] == 32768);
  CHECK(read["share_over"][0].size() == 4);
}
