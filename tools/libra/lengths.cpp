#include "commands.hpp"
#include "output.hpp"
#include "text.hpp"

#include <libra/core/error.hpp>
#include <libra/io/file.hpp>
#include <libra/io/in_quotes.hpp>
#include <libra/io/lengths.hpp>
#include <libra/io/lengths_report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace libra::tools {
namespace {

std::string tables(lengths_report const& report, std::int64_t empty) {
  text_table figures("<>");
  figures.row({"documents", with_commas(report.count)});
  if (empty > 0) figures.row({"empty, left out", with_commas(empty)});
  figures.row({"tokens", with_commas(report.tokens)});
  figures.row({"sum of squares", with_commas(report.sum_squares)});
  figures.row({"min", with_commas(report.min)});
  figures.row({"mean", fmt::format("{:.1f}", report.mean)});
  figures.row({"median", with_commas(report.p50)});
  figures.row({"90 %", with_commas(report.p90)});
  figures.row({"99 %", with_commas(report.p99)});
  figures.row({"99.9 %", with_commas(report.p999)});
  figures.row({"max", with_commas(report.max)});

  text_table shares(">>>>");
  shares.row({"longer than", "documents", "tokens", "squares"});
  for (length_share const& s : report.share_over) {
    shares.row({with_commas(s.over_tokens), fmt::format("{:.2f} %", 100 * s.documents), as_percent(s.tokens),
                as_percent(s.squares)});
  }
  return figures.text() + '\n' + shares.text();
}

std::string as_lines(std::vector<std::int64_t> const& lengths) {
  fmt::memory_buffer text;
  for (std::int64_t const length : lengths) {
    fmt::format_to(std::back_inserter(text), "{}\n", length);
  }
  return fmt::to_string(text);
}

}  // namespace

outcome lengths_command::run() const {
  require(!write.ends_with(".npy"), "--write is ", in_quotes(write, 400),
          ", expected a text file: .npy is not written yet");
  length_list list = read_lengths(input.lengths, {.skip_empty = input.skip_empty});
  std::erase(list.lengths, 0);
  require(!list.lengths.empty(), "all ", list.empty_documents,
          " documents have length 0, expected at least one that has tokens");
  lengths_report const report = report_lengths(list.lengths);
  if (!write.empty()) {
    write_file(write, as_lines(list.lengths));
  }
  deliver(
      output,
      [&] {
        return document("lengths", [&](json_writer& json) {
          json.object("config", [&] { json.member("skip_empty", input.skip_empty); });
          write_members(json, report);
          json.member("empty_documents", list.empty_documents);
        });
      },
      [&] { return tables(report, list.empty_documents); });
  return outcome::done;
}

}  // namespace libra::tools
