#pragma once

#include <libra/core/error.hpp>
#include <libra/model/topology.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace libra {

/// How fast one rank computes attention.
///
/// A tile's time is the flop of the key blocks it visits at the peak rate, plus a cost per block of 128 query rows;
/// starting a batch of tiles costs `launch_ps` on top. A forward pair costs 4 flop per channel, a backward pair 10.
struct attention_rates {
  std::int64_t forward_flop_per_second{};
  std::int64_t backward_flop_per_second{};
  std::int64_t forward_block_ps{};
  std::int64_t backward_block_ps{};
  std::int64_t forward_launch_ps{};
  std::int64_t backward_launch_ps{};

  friend constexpr bool operator==(attention_rates const&, attention_rates const&) = default;
};

/// A kind of rank and what connects such ranks.
struct machine {
  std::string_view name;
  std::string_view source;
  topology links;
  std::int64_t linear_flop_per_second{};
  attention_rates attention;
  /// What ops that only move memory run at; 0 charges nothing for them.
  std::int64_t memory_bytes_per_second{};
  /// How much longer computing takes while its rank exchanges, in thousandths: 1000 is no slow-down.
  std::int32_t sm_factor_permille{1000};
};

/// Errors: `input_error` naming the first rate that is out of range.
constexpr void validate(attention_rates const& r) {
  require(r.forward_flop_per_second >= 1, "forward_flop_per_second is ", r.forward_flop_per_second,
          ", expected at least 1");
  require(r.backward_flop_per_second >= 1, "backward_flop_per_second is ", r.backward_flop_per_second,
          ", expected at least 1");
  require(r.forward_block_ps >= 0, "forward_block_ps is ", r.forward_block_ps, ", expected at least 0");
  require(r.backward_block_ps >= 0, "backward_block_ps is ", r.backward_block_ps, ", expected at least 0");
  require(r.forward_launch_ps >= 0, "forward_launch_ps is ", r.forward_launch_ps, ", expected at least 0");
  require(r.backward_launch_ps >= 0, "backward_launch_ps is ", r.backward_launch_ps, ", expected at least 0");
}

/// Errors: `input_error` naming the first figure that is out of range.
constexpr void validate(machine const& m) {
  validate(m.links);
  validate(m.attention);
  require(m.linear_flop_per_second >= 1, "linear_flop_per_second is ", m.linear_flop_per_second,
          ", expected at least 1");
  require(m.memory_bytes_per_second >= 0, "memory_bytes_per_second is ", m.memory_bytes_per_second,
          ", expected at least 0");
  require(m.sm_factor_permille >= 1000, "sm_factor_permille is ", m.sm_factor_permille, ", expected at least 1000");
}

/// FlashAttention-3 on a Hopper SXM card, document-causal batches of 1K to 32K tokens.
///
/// Source: least-squares fit of three constants a pass to MagiAttention's published one-GPU rows (H100, bf16, 64/8
/// heads of 128); docs/cost-model.md shows the residuals.
inline constexpr attention_rates hopper_flash_attention{
    .forward_flop_per_second = 623'500'000'000'000,
    .backward_flop_per_second = 619'800'000'000'000,
    .forward_block_ps = 0,
    .backward_block_ps = 119'300,
    .forward_launch_ps = 31'700'000,
    .backward_launch_ps = 40'000'000,
};

/// Constants fixed for comparisons: 8 ranks a node, 48 GB/s between and 400 GB/s inside nodes, 25 / 10 us a round.
inline constexpr machine h200_sxm{
    .name = "h200-sxm",
    .source =
        "link constants fixed for comparisons; attention fitted to MagiAttention's cp_benchmark (FlashAttention-3)",
    .links = {.ranks_per_node = 8,
              .node_bytes_per_second = 400'000'000'000,
              .network_bytes_per_second = 48'000'000'000,
              .node_latency_ps = 10'000'000,
              .network_latency_ps = 25'000'000},
    .linear_flop_per_second = 400'000'000'000'000,
    .attention = hopper_flash_attention,
};

/// Computes and connects like `h200_sxm`; the two differ in memory only, which no decision reads.
inline constexpr machine h100_sxm{
    .name = "h100-sxm",
    .source = h200_sxm.source,
    .links = h200_sxm.links,
    .linear_flop_per_second = h200_sxm.linear_flop_per_second,
    .attention = h200_sxm.attention,
};

inline constexpr std::array machines{h100_sxm, h200_sxm};

}  // namespace libra
