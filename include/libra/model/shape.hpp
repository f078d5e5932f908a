#pragma once

#include <libra/core/error.hpp>
#include <libra/model/mask.hpp>

#include <cstdint>

namespace libra {

/// What one attention call computes for every token, on one tensor-parallel coordinate.
///
/// Grouped-query attention: query head h reads key/value head `h / group()`.
struct attention_shape {
  std::int32_t q_heads{32};
  std::int32_t kv_heads{4};
  std::int32_t head_dim{128};
  attention_mask mask{};

  /// Query heads per key/value head.
  [[nodiscard]] constexpr std::int32_t group() const noexcept { return q_heads / kv_heads; }

  friend constexpr bool operator==(attention_shape const&, attention_shape const&) = default;
};

/// Errors: `input_error` naming the extent that no backend can compute.
constexpr void validate(attention_shape const& shape) {
  require(shape.q_heads >= 1, "q_heads is ", shape.q_heads, ", expected at least 1");
  require(shape.kv_heads >= 1, "kv_heads is ", shape.kv_heads, ", expected at least 1");
  require(shape.q_heads % shape.kv_heads == 0, "kv_heads is ", shape.kv_heads, ", expected a divisor of q_heads ",
          shape.q_heads);
  require(shape.head_dim >= 16 && shape.head_dim <= 256 && shape.head_dim % 8 == 0, "head_dim is ", shape.head_dim,
          ", expected 16 to 256 in steps of 8");
  require(shape.mask.kind != mask_kind::window || shape.mask.width_tokens >= 1, "attention window is ",
          shape.mask.width_tokens, " tokens, expected at least 1");
}

}  // namespace libra
