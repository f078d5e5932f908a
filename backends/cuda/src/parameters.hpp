#pragma once

#include <libra/program/ops.hpp>

#include <cstddef>
#include <cstdint>

namespace libra::cuda {

/// Where the memory of one call is: the only thing that differs from layer to layer of one plan.
///
/// It lives on the device, so that a plan's kernels are launched with the same arguments for every call.
struct call_parameters {
  std::byte* home[tensor_count]{};
  std::byte* workspace{};
  float softmax_scale{1.0F};
};

/// What all calls of a plan share; passed to kernels by value.
struct geometry {
  attention_shape shape;
  std::int32_t activation_bytes{2};

  [[nodiscard]] constexpr element_bytes width() const noexcept { return {activation_bytes, 4, 4}; }
};

}  // namespace libra::cuda
