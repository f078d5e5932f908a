#pragma once

#include "configuration.hpp"
#include "options.hpp"

#include <libra/io/plan_json.hpp>

#include <cstdint>
#include <vector>

namespace libra::tools {

/// The documents that are planned, in their order, and where the given list has them.
struct documents {
  /// Shape: `[positions]`. Units: tokens, at least 1.
  std::vector<std::int64_t> lengths;
  /// Shape: `[positions]`, or empty when positions are the given list's indices.
  std::vector<std::int64_t> index;
  std::int64_t given{};
  std::int64_t empty{};

  [[nodiscard]] document_origin origin() const noexcept { return {index, given, empty}; }
};

/// Reads the lists, leaves empty documents out where they may be there, divides by `shrink` and orders.
///
/// Errors: `input_error` from the readers; for a document that `overlong::reject` refuses, naming its index in the
/// given list; for a list too long to be packed into windows of this size.
[[nodiscard]] documents load_documents(input_options const& input, configuration const& config,
                                       std::int64_t shrink = 1);

}  // namespace libra::tools
