#pragma once

#include <libra/host/scratch.hpp>
#include <libra/model/mask.hpp>
#include <libra/run/progress.hpp>

#include <cstdint>
#include <span>
#include <type_traits>

namespace libra::host {

/// Rows of one or more heads in memory that the caller owns: a plain strided view.
///
/// Shape: `[rows, heads, head_dim]`; element (row r, head h, channel d) is `data[r * row_stride + h * head_stride +
/// d]`. Units: strides in elements.
template <class T>
struct head_rows {
  T* data{};
  std::int64_t row_stride{};
  std::int64_t head_stride{};

  /// Channel 0 of one row of one head.
  [[nodiscard]] constexpr T* at(std::int64_t row, std::int64_t head = 0) const noexcept {
    return data + row * row_stride + head * head_stride;
  }

  constexpr operator head_rows<T const>() const noexcept
    requires(!std::is_const_v<T>)
  {
    return {data, row_stride, head_stride};
  }
};

/// Rows, heads and channels of a strided view.
struct head_extent {
  std::int64_t rows{};
  std::int32_t heads{1};
  std::int32_t head_dim{128};
};

/// What one sequence-head tile computes: query rows `rows` of a segment times `heads` query heads of one key/value
/// head.
///
/// `keys` are the segment's key rows that the tile's views begin and end with: they hold at least what the mask shows
/// to `rows`, and begin at a multiple of `key_block`. More keys than that change no bit of the result.
struct tile_extent {
  row_range rows{};
  row_range keys{};
  std::int64_t length{};
  std::int32_t heads{1};
  std::int32_t head_dim{128};
  attention_mask mask{};
  float scale{1.0F};
  /// False for a part: the tile works on what the mask shows it of any range of `keys`. A row that sees none of them
  /// has a result of zero and a log-sum-exp of minus infinity.
  bool all_keys{true};
};

/// Forward attention of one tile.
///
/// Shape: `q` and `o` are `[rows, heads, head_dim]`; `k` and `v` are `[keys, 1, head_dim]`; `lse` is `[rows, heads,
/// 1]`. Row 0 of `q`, `o` and `lse` is token `extent.rows.begin` of the segment, row 0 of `k` and `v` token
/// `extent.keys.begin`.
struct attend_tile {
  tile_extent extent{};
  head_rows<float const> q{};
  head_rows<float const> k{};
  head_rows<float const> v{};
  head_rows<float> o{};
  /// Natural logarithm of the row's sum of `exp(scale * q.k)`.
  head_rows<float> lse{};
};

/// Backward attention of one tile. `dq` is written; the tile's share is *added* to `dk` and `dv`.
///
/// Shape: as in `attend_tile`; `d_o` and `dq` like `q`, `delta` like `lse`, `dk` and `dv` like `k`.
struct attend_backward_tile {
  tile_extent extent{};
  head_rows<float const> q{};
  head_rows<float const> k{};
  head_rows<float const> v{};
  head_rows<float const> d_o{};
  head_rows<float const> lse{};
  /// `row_dot` of `d_o` and `o`.
  head_rows<float const> delta{};
  head_rows<float> dq{};
  head_rows<float> dk{};
  head_rows<float> dv{};
};

/// Computes `o = softmax(scale * q k^T) v` and the log-sum-exp of every row, in fp32.
///
/// Pre: the views cover the extent and outputs overlap nothing. A value of `v` that is not finite may also spoil rows
/// of the tile that do not see it.
/// Errors: `input_error` naming the extent that does not fit.
/// Determinism: on one instruction set and for finite inputs the bits of a (row, head) depend on nothing but its own
/// query and the keys it sees: not on the tile's other rows and heads, nor on where `keys` begins and ends.
/// `poll` is called about every millisecond.
void attend(attend_tile const& tile, scratch& memory, progress_hook poll = {});

/// Computes the gradients of `attend`.
///
/// Pre and Errors: as `attend`. Determinism: `dq` as `attend`'s outputs; `dk` and `dv` are sums over the tile's rows
/// and heads in a fixed order, so the same tile gives the same bits.
void attend_backward(attend_backward_tile const& tile, scratch& memory, progress_hook poll = {});

/// Combines results of disjoint keys: `o` and `lse` become those of their own keys and the other's.
///
/// Shape: as in `attend_tile`. Agrees with one call on all keys to rounding, not bit by bit.
void combine(head_rows<float const> other_o, head_rows<float const> other_lse, head_rows<float> o, head_rows<float> lse,
             head_extent const& extent);

/// `delta[r, h] = sum over channels of d_o[r, h, :] * o[r, h, :]`. Pre: `head_dim` is a multiple of 8.
void row_dot(head_rows<float const> d_o, head_rows<float const> o, head_rows<float> delta, head_extent const& extent);

/// `into = parts[0] + parts[1] + ...`, added in that order; `into` may be one of the parts.
///
/// Pre: `head_dim` is a multiple of 8. Errors: `input_error` when there are no parts.
void add_rows(std::span<head_rows<float const> const> parts, head_rows<float> into, head_extent const& extent);

}  // namespace libra::host
