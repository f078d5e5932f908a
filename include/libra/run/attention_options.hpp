#pragma once

#include <libra/core/error.hpp>

#include <cmath>
#include <optional>
#include <string>

namespace libra {

/// How attention is computed, equal on all ranks of a pool.
///
/// The members after the first are what libra does not compute. They are here so that a trainer can pass its whole
/// configuration on: whatever asks for one of them is refused by name instead of being computed without it.
struct attention_options {
  /// Factor of `q . k` before the softmax; `1 / sqrt(head_dim)` when absent.
  std::optional<float> softmax_scale{};
  /// Probability with which a score is dropped.
  float dropout{};
  /// Bound that scores are squeezed under by a hyperbolic tangent; 0 is none.
  float logit_soft_cap{};
  /// Learned scores that take part in the softmax without a value.
  bool attention_sinks{};
  /// A bias linear in the distance of query and key.
  bool alibi{};
};

/// Errors: `input_error` naming what is not supported, or a scale that is not finite.
inline void validate(attention_options const& options) {
  constexpr auto without = ": libra's attention is without it";
  require(options.dropout == 0, "dropout is ", std::to_string(options.dropout), ", expected 0", without);
  require(options.logit_soft_cap == 0, "logit_soft_cap is ", std::to_string(options.logit_soft_cap), ", expected 0",
          without);
  require(!options.attention_sinks, "attention_sinks is true, expected false", without);
  require(!options.alibi, "alibi is true, expected false", without);
  require(!options.softmax_scale || std::isfinite(*options.softmax_scale), "softmax_scale is ",
          std::to_string(options.softmax_scale.value_or(0)), ", expected a finite number");
}

}  // namespace libra
