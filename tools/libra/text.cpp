#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace libra::tools {

std::string with_commas(int128 value) {
  std::string const digits = to_string(value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    bool const group_begins = i > 0 && (digits.size() - i) % 3 == 0 && digits[i - 1] != '-';
    if (group_begins) text += ',';
    text += digits[i];
  }
  return text;
}

std::string as_percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string as_skew(double over_mean) {
  return over_mean < 1.1 ? fmt::format("{:.4f}", over_mean) : fmt::format("{:.3f}", over_mean);
}

std::string as_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 6> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) {
    value /= 1024;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string as_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string counted(int128 count, std::string_view noun) {
  return fmt::format("{} {}{}", with_commas(count), noun, count == 1 ? "" : "s");
}

text_table& text_table::row(std::vector<std::string> cells) {
  rows_.push_back({std::move(cells), false});
  return *this;
}

text_table& text_table::line(std::string text) {
  rows_.push_back({{std::move(text)}, true});
  return *this;
}

std::string text_table::text() const {
  std::vector<std::size_t> width(alignment_.size());
  for (row_cells const& row : rows_) {
    for (std::size_t c = 0; !row.spans && c < row.cells.size(); ++c) {
      width[c] = std::max(width[c], row.cells[c].size());
    }
  }
  std::string out;
  for (row_cells const& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      std::size_t const fill = row.spans ? 0 : width[c] - row.cells[c].size();
      bool const right = !row.spans && alignment_[c] == '>';
      line += (c == 0 ? "" : "  ") + (right ? std::string(fill, ' ') : "") + row.cells[c];
      line += right ? "" : std::string(fill, ' ');
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return out;
}

}  // namespace libra::tools
