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
  /// What a rank can send one rank of another node, where that is less than its port carries; 0 is no limit.
  std::int64_t peer_bytes_per_second{};
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
  require(m.peer_bytes_per_second >= 0, "peer_bytes_per_second is ", m.peer_bytes_per_second, ", expected at least 0");
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
///
/// Memory bandwidth: NVIDIA H200 datasheet.
inline constexpr machine h200_sxm{
    .name = "h200-sxm",
    .source =
        "link constants fixed for comparisons; attention fitted to MagiAttention's cp_benchmark (FlashAttention-3); "
        "memory bandwidth of the NVIDIA H200 datasheet",
    .links = {.ranks_per_node = 8,
              .node_bytes_per_second = 400'000'000'000,
              .network_bytes_per_second = 48'000'000'000,
              .node_latency_ps = 10'000'000,
              .network_latency_ps = 25'000'000},
    .linear_flop_per_second = 400'000'000'000'000,
    .attention = hopper_flash_attention,
    .memory_bytes_per_second = 4'800'000'000'000,
};

/// Computes and connects like `h200_sxm`; the two differ in memory only.
inline constexpr machine h100_sxm{
    .name = "h100-sxm",
    .source =
        "link constants fixed for comparisons; attention fitted to MagiAttention's cp_benchmark (FlashAttention-3); "
        "memory bandwidth of the NVIDIA H100 datasheet",
    .links = h200_sxm.links,
    .linear_flop_per_second = h200_sxm.linear_flop_per_second,
    .attention = hopper_flash_attention,
    .memory_bytes_per_second = 3'350'000'000'000,
};

/// A card's public figures, per direction where that matters.
struct datasheet {
  std::string_view name;
  std::string_view source;
  std::int32_t ranks_per_node{8};
  std::int64_t bf16_teraflop_per_second{};  ///< dense
  std::int64_t node_gigabytes_per_second{};
  std::int64_t network_gigabytes_per_second{};
  std::int64_t memory_gigabytes_per_second{};
};

/// A machine that reaches the same shares of its datasheet as an H100 SXM does: of 989 TFLOP/s, 450 and 50 GB/s.
///
/// Nobody measured these machines with the same kernel and setting: attention and linear rates are the H100's times
/// the ratio of the dense bf16 peaks, link rates and launch and block costs likewise the H100's. Good for comparing
/// plans on a kind of machine, not for comparing machines.
[[nodiscard]] constexpr machine like_h100(datasheet const& d) {
  auto const by_peak = [&](std::int64_t rate) { return rate * d.bf16_teraflop_per_second / 989; };
  machine m = h100_sxm;
  m.name = d.name;
  m.source = d.source;
  m.links.ranks_per_node = d.ranks_per_node;
  m.links.node_bytes_per_second = h100_sxm.links.node_bytes_per_second * d.node_gigabytes_per_second / 450;
  m.links.network_bytes_per_second = h100_sxm.links.network_bytes_per_second * d.network_gigabytes_per_second / 50;
  m.linear_flop_per_second = by_peak(h100_sxm.linear_flop_per_second);
  m.attention.forward_flop_per_second = by_peak(hopper_flash_attention.forward_flop_per_second);
  m.attention.backward_flop_per_second = by_peak(hopper_flash_attention.backward_flop_per_second);
  m.memory_bytes_per_second = d.memory_gigabytes_per_second * 1'000'000'000;
  return m;
}

inline constexpr machine a100_80g = like_h100({
    .name = "a100-80g",
    .source = "NVIDIA A100 80GB SXM datasheet: 312 TFLOP/s dense bf16, NVLink 600 GB/s in both directions, 2,039 GB/s "
              "memory; "
              "DGX A100: a 200 Gb/s port per GPU; rates scaled from h100-sxm by peak",
    .bf16_teraflop_per_second = 312,
    .node_gigabytes_per_second = 300,
    .network_gigabytes_per_second = 25,
    .memory_gigabytes_per_second = 2039,
});

inline constexpr machine h800 = like_h100({
    .name = "h800",
    .source =
        "an H100 SXM with NVLink 400 GB/s in both directions and a 400 Gb/s port per GPU, as DeepSeek-V3's technical "
        "report describes its cluster; rates scaled from h100-sxm by peak",
    .bf16_teraflop_per_second = 989,
    .node_gigabytes_per_second = 200,
    .network_gigabytes_per_second = 50,
    .memory_gigabytes_per_second = 3350,
});

inline constexpr machine h20 = like_h100({
    .name = "h20",
    .source =
        "NVIDIA H20 datasheet: 148 TFLOP/s dense bf16, NVLink 900 GB/s in both directions, 4.0 TB/s memory; a 400 Gb/s "
        "port per GPU; rates scaled from h100-sxm by peak",
    .bf16_teraflop_per_second = 148,
    .node_gigabytes_per_second = 450,
    .network_gigabytes_per_second = 50,
    .memory_gigabytes_per_second = 4000,
});

inline constexpr machine gb200_nvl72 = like_h100({
    .name = "gb200-nvl72",
    .source =
        "NVIDIA GB200 NVL72 datasheet, per GPU: 2,500 TFLOP/s dense bf16, NVLink 1.8 TB/s in both directions among 72 "
        "GPUs, 8 TB/s memory; a 400 Gb/s port per GPU; rates scaled from h100-sxm by peak",
    .ranks_per_node = 72,
    .bf16_teraflop_per_second = 2500,
    .node_gigabytes_per_second = 900,
    .network_gigabytes_per_second = 50,
    .memory_gigabytes_per_second = 8000,
});

inline constexpr std::array machines{a100_80g, h100_sxm, h200_sxm, h800, h20, gb200_nvl72};

}  // namespace libra
