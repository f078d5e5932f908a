#pragma once

#include <libra/host/tile_kernel.hpp>
#include <libra/model/mask.hpp>

#include <cstdint>
#include <vector>

namespace libra::host {

/// A whole segment's attention for one key/value head and the query heads that read it.
///
/// Shape: `q`, `d_o` and `o` are `[length, heads, head_dim]`; `k` and `v` are `[length, 1, head_dim]`. Without `d_o`
/// (null data) only the forward half is computed. With `o`, gradients are those of a call that is given these outputs,
/// which may have been rounded: `delta = rowsum(d_o * o)`. Without, the outputs that the forward half computes.
struct reference_problem {
  std::int64_t length{};
  std::int32_t heads{1};
  std::int32_t head_dim{128};
  attention_mask mask{};
  double scale{1.0};
  head_rows<float const> q{};
  head_rows<float const> k{};
  head_rows<float const> v{};
  head_rows<float const> d_o{};
  head_rows<float const> o{};
};

/// Shape: row-major without gaps; `o` and `dq` are `[length, heads, head_dim]`, `lse` is `[length, heads]`, `dk` and
/// `dv` are `[length, head_dim]`. The gradients are empty when the problem has no `d_o`.
struct reference_result {
  std::vector<double> o;
  std::vector<double> lse;
  std::vector<double> dq;
  std::vector<double> dk;
  std::vector<double> dv;
};

/// Attention and its gradients in double precision: what every kernel is checked against.
///
/// It shares no arithmetic with the tile kernel: whole rows of scores, their largest, then `std::exp`. Calls for
/// different problems may run at the same time.
/// Complexity: as attention; tens of billions of flop per second and core with AVX-512, memory linear in `length`.
/// Errors: `input_error` when `heads < 1`, `length < 0`, or `head_dim` is not a positive multiple of 8.
[[nodiscard]] reference_result reference_attention(reference_problem const& problem);

}  // namespace libra::host
