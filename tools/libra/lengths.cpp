#include "commands.hpp"
#include "output.hpp"
#include "text.hpp"

#include <libra/core/error.hpp>
#include <libra/io/file.hpp>
#include <libra/io/lengths.hpp>
#include <libra/io/lengths_report.hpp>
#include <libra/io/lengths_text.hpp>
#include <libra/io/npy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

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

}  // namespace

outcome lengths_command::run() const {
  length_list list = read_lengths(input.lengths, input.reading());
  std::erase(list.lengths, 0);
  require(!list.lengths.empty(), "all ", list.empty_documents,
          " documents have length 0, expected at least one that has tokens");
  lengths_report const report = report_lengths(list.lengths);
  if (!write.empty()) {
    write_file(write, write.ends_with(".npy") ? npy_file(list.lengths) : lengths_as_text(list.lengths));
  }
  deliver(
      output,
      [&] {
        return document("lengths", [&](json_writer& json) {
          json.object("config", [&] {
            json.member("skip_empty", input.skip_empty);
            json.member("column", input.column);
            json.member("field", input.field);
          });
          write_members(json, report);
          json.member("empty_documents", list.empty_documents);
        });
      },
      [&] { return tables(report, list.empty_documents); });
  return outcome::done;
}

}  // namespace libra::tools
