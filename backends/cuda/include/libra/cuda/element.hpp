#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <concepts>

namespace libra::cuda {

using bf16 = __nv_bfloat16;
using fp16 = __half;

/// What q, k, v, o and their gradients can be made of; sums are fp32 whatever it is.
template <class T>
concept element = std::same_as<T, float> || std::same_as<T, bf16> || std::same_as<T, fp16>;

}  // namespace libra::cuda
