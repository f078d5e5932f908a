#pragma once

#include <libra/model/shape.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace libra {

/// The facts of a decoder-only model that matter to planning and simulation.
struct transformer {
  std::string_view name;
  std::string_view source;
  std::int32_t layers{};
  std::int32_t hidden{};
  std::int64_t active_parameters{};
  attention_shape shape;
};

inline constexpr transformer qwen3_30b_a3b{
    .name = "qwen3-30b-a3b",
    .source = "config.json of Qwen/Qwen3-30B-A3B",
    .layers = 48,
    .hidden = 2048,
    .active_parameters = 3'300'000'000,
    .shape = {.q_heads = 32, .kv_heads = 4, .head_dim = 128, .mask = {}},
};

inline constexpr std::array transformers{qwen3_30b_a3b};

}  // namespace libra
