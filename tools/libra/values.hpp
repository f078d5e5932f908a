#pragma once

#include <libra/model/mask.hpp>
#include <libra/model/packing.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace libra::tools {

/// What an integer option allows.
struct integer_range {
  std::int64_t least{1};
  std::int64_t most{std::numeric_limits<std::int64_t>::max()};
  /// K and M after the digits mean 1024 and 1048576.
  bool suffixes{false};
};

/// Errors of all of these: `input_error` naming the option, the text and what was expected.
[[nodiscard]] std::int64_t parse_integer(std::string_view option, std::string_view text, integer_range const& range);
[[nodiscard]] std::uint64_t parse_seed(std::string_view option, std::string_view text);
[[nodiscard]] attention_mask parse_mask(std::string_view option, std::string_view text);

/// The index of `text` among the names that an option allows.
[[nodiscard]] std::size_t parse_choice(std::string_view option, std::string_view text,
                                       std::span<std::string_view const> names);
/// The same for names separated by commas. Errors: also for none, and for one given twice.
[[nodiscard]] std::vector<std::size_t> parse_choices(std::string_view option, std::string_view text,
                                                     std::span<std::string_view const> names);

/// A mask as the command line writes it.
[[nodiscard]] std::string to_text(attention_mask const& mask);

}  // namespace libra::tools
