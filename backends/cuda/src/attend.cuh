#pragma once

#include "attention_tiles.hpp"

namespace libra::cuda::device {

/// Bytes of shared memory of `attend_rows`.
[[nodiscard]] constexpr std::size_t attend_shared_bytes(int head_dim) {
  return static_cast<std::size_t>((own_rows + 2 * other_rows) * (head_dim + 1) + warps * weights_per_warp(1)) *
         sizeof(float);
}

/// A row's softmax so far, relative to its largest score, in units of log2.
struct softmax_state {
  float largest{-3.0e38F};  ///< finite, so that the difference to a hidden score is not NaN
  float total{0.0F};
  float sums[most_channels]{};
};

/// Writes what a row's keys give, or combines it with what the row holds already. `Stored` is what `o` is made of:
/// floats while it is a part.
template <class Stored>
LIBRA_DEVICE void store_attended(softmax_state& state, bool combine, int head_dim, Stored* o, float* lse) {
  float ours = state.total > 0.0F ? (state.largest + log2(state.total)) * ln_2 : -INFINITY;
  float weight = state.total > 0.0F ? 1.0F / state.total : 0.0F;  // of some keys, a row may see none
  float their_weight = 0.0F;
  if (combine) {
    float const theirs = *lse;
    warp_barrier();  // all lanes have read it before one writes
    float const most = larger(ours, theirs);
    if (most > -INFINITY) {
      float const our_share = exp2((ours - most) * log2_e);
      float const their_share = exp2((theirs - most) * log2_e);
      float const both = our_share + their_share;
      weight *= our_share / both;
      their_weight = their_share / both;
      ours = most + log2(both) * ln_2;
    }
  }
#pragma unroll
  for (int i = 0; i < most_channels; ++i) {
    int const channel = static_cast<int>(lane()) + i * static_cast<int>(warp_threads);
    if (channel < head_dim) {
      float x = state.sums[i] * weight;
      if (combine) {
        x = multiply_add(to_float(o[channel]), their_weight, x);
      }
      store(o + channel, x);
    }
  }
  if (lane() == 0) {
    *lse = ours;
  }
}

/// Forward attention: one block per 16 rows of one head of a tile.
///
/// Determinism: key blocks of 32 are anchored at the segment's first key and visited in order, and a block in which a
/// row sees nothing changes no bit of it: a row's bits do not depend on the tile.
template <class Element>
LIBRA_KERNEL(attention_threads)
attend_rows(call_parameters const* call, geometry g, tile_task const* tiles, std::int64_t const* ends,
            std::int64_t items) {
  row_unit const unit = row_unit_of(tiles, ends, items, block());
  tile_task const task = tiles[unit.tile];
  int const head_dim = g.shape.head_dim;
  int const stride = shared_stride(head_dim);
  auto* const queries = reinterpret_cast<float*>(shared());
  float* const keys = queries + own_rows * stride;
  float* const values = keys + other_rows * stride;
  int const warp = static_cast<int>(thread() / warp_threads);
  float* weights = values + other_rows * stride + warp * weights_per_warp(1);
  int other_place = other_rows;

  operand const q = operand_of(*call, g, task, tensor::q);
  operand const k = operand_of(*call, g, task, tensor::k);
  operand const v = operand_of(*call, g, task, tensor::v);
  // Row 0 of the operands is the tile's first.
  load_rows<Element>(q, unit.head, unit.first_row, task.rows.begin, task.rows.end, own_rows, head_dim,
                     call->softmax_scale * log2_e, queries);

  std::int64_t const last_row = unit.first_row + own_rows < task.rows.end ? unit.first_row + own_rows : task.rows.end;
  row_range const seen = visible_keys(g.shape.mask, task, unit.first_row, last_row);
  softmax_state states[rows_per_warp];
  for (std::int64_t first = seen.begin / other_rows * other_rows; first < seen.end; first += other_rows) {
    block_barrier();  // nobody reads the block before any more
    load_rows<Element>(k, 0, first, task.keys.begin, task.keys.end, other_rows, head_dim, 1.0F, keys);
    load_rows<Element>(v, 0, first, task.keys.begin, task.keys.end, other_rows, head_dim, 1.0F, values);
    block_barrier();
    std::int64_t const key = first + lane();
#pragma unroll
    for (int r = 0; r < rows_per_warp; ++r) {
      int const own = warp * rows_per_warp + r;
      std::int64_t const row = unit.first_row + own;
      if (row >= last_row) {
        continue;  // the whole warp
      }
      row_range const visible = visible_keys(g.shape.mask, task, row);
      if (visible.end <= first || visible.begin >= first + other_rows) {
        continue;
      }
      softmax_state& state = states[r];
      bool const sees = key >= visible.begin && key < visible.end;
      float const score =
          sees ? dot(queries + own * stride, keys + lane() * static_cast<unsigned>(stride), head_dim) : -INFINITY;
      float const largest = larger(state.largest, warp_largest(score));
      float const weight = sees ? exp2(score - largest) : 0.0F;
      float const shrink = exp2(state.largest - largest);
      state.largest = largest;
      state.total = multiply_add(state.total, shrink, warp_sum(weight));
      weights += other_place;
      other_place = -other_place;
      weights[lane()] = weight;
#pragma unroll
      for (float& sum : state.sums) {
        sum *= shrink;
      }
      warp_barrier();
      add_weighted(weights, values, head_dim, state.sums);
    }
  }

  operand const o = operand_of(*call, g, task, task.output(tensor::o));
  operand const lse = operand_of(*call, g, task, tensor::lse);
#pragma unroll
  for (int r = 0; r < rows_per_warp; ++r) {
    std::int64_t const row = unit.first_row + warp * rows_per_warp + r;
    if (row < last_row) {
      std::int64_t const in_tile = row - task.rows.begin;
      float* const row_lse = lse.at<float>(in_tile, unit.head);
      if (task.part == key_part::all) {
        store_attended(states[r], false, head_dim, o.at<Element>(in_tile, unit.head), row_lse);
      } else {
        store_attended(states[r], task.part == key_part::next, head_dim, o.at<float>(in_tile, unit.head), row_lse);
      }
    }
  }
}

}  // namespace libra::cuda::device
