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

inline constexpr transformer qwen3_235b_a22b{
    .name = "qwen3-235b-a22b",
    .source = "config.json of Qwen/Qwen3-235B-A22B",
    .layers = 94,
    .hidden = 4096,
    .active_parameters = 22'000'000'000,
    .shape = {.q_heads = 64, .kv_heads = 4, .head_dim = 128, .mask = {}},
};

inline constexpr transformer qwen3_8b{
    .name = "qwen3-8b",
    .source = "config.json of Qwen/Qwen3-8B",
    .layers = 36,
    .hidden = 4096,
    .active_parameters = 8'200'000'000,
    .shape = {.q_heads = 32, .kv_heads = 8, .head_dim = 128, .mask = {}},
};

inline constexpr transformer llama3_8b{
    .name = "llama3-8b",
    .source = "config.json of meta-llama/Meta-Llama-3-8B",
    .layers = 32,
    .hidden = 4096,
    .active_parameters = 8'000'000'000,
    .shape = {.q_heads = 32, .kv_heads = 8, .head_dim = 128, .mask = {}},
};

inline constexpr transformer llama3_70b{
    .name = "llama3-70b",
    .source = "config.json of meta-llama/Meta-Llama-3-70B",
    .layers = 80,
    .hidden = 8192,
    .active_parameters = 70'600'000'000,
    .shape = {.q_heads = 64, .kv_heads = 8, .head_dim = 128, .mask = {}},
};

inline constexpr std::array transformers{qwen3_30b_a3b, qwen3_235b_a22b, qwen3_8b, llama3_8b, llama3_70b};

}  // namespace libra
