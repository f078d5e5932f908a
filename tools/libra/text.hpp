#pragma once

#include <libra/core/wide.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace libra::tools {

/// Numbers as people read them.
[[nodiscard]] std::string with_commas(int128 value);                     ///< 1,234,567
[[nodiscard]] std::string as_percent(double share);                      ///< 12.3 %
[[nodiscard]] std::string as_skew(double over_mean);                     ///< 6.214, or 1.0063 where it is close to 1
[[nodiscard]] std::string as_bytes(std::int64_t bytes);                  ///< 1.25 GiB
[[nodiscard]] std::string as_seconds(double seconds);                    ///< 1.25 s, 3.20 ms
[[nodiscard]] std::string counted(int128 count, std::string_view noun);  ///< 1 document, 2 documents

/// Rows of cells in aligned columns.
class text_table {
 public:
  /// `alignment` has one of '<' and '>' per column.
  explicit text_table(std::string_view alignment) : alignment_(alignment) {}

  text_table& row(std::vector<std::string> cells);
  /// A row that spans all columns.
  text_table& line(std::string text);
  [[nodiscard]] std::string text() const;

 private:
  struct row_cells {
    std::vector<std::string> cells;
    bool spans{false};
  };
  std::string alignment_;
  std::vector<row_cells> rows_;
};

}  // namespace libra::tools
