#pragma once

#include "attention_tiles.hpp"
#include "tasks.hpp"

namespace libra::cuda::device {

/// Bytes of shared memory of `attend_backward_rows`.
[[nodiscard]] constexpr std::size_t backward_rows_shared_bytes(int head_dim) {
  return static_cast<std::size_t>((2 * own_rows + 2 * other_rows) * (head_dim + 1) + warps * weights_per_warp(2)) *
         sizeof(float);
}
/// Bytes of shared memory of `attend_backward_keys`.
[[nodiscard]] constexpr std::size_t backward_keys_shared_bytes(int head_dim) {
  return static_cast<std::size_t>((2 * own_rows + 2 * other_rows) * (head_dim + 1) + 2 * other_rows +
                                  warps * weights_per_warp(2)) *
         sizeof(float);
}

/// A probability is at most 1, whatever the rounding of large scores says. Units: log2.
LIBRA_DEVICE float probability(float score, float lse) { return exp2(smaller(score - lse, 0.0F)); }

/// The gradient of queries: one block per 16 rows of one head of a tile. Determinism: as `attend_rows`.
///
/// The scores' gradients of a row add up to zero over all its keys, except that `delta = rowsum(d_o * o)` comes from an
/// `o` that was rounded. Where a tile sees all keys of its rows, what they add up to is that error: dq is corrected by
/// it, and delta is where it is read, before `attend_backward_keys` reads it.
template <class Element>
LIBRA_KERNEL(attention_threads)
attend_backward_rows(call_parameters const* call, geometry g, tile_task const* tiles, std::int64_t const* ends,
                     std::int64_t items) {
  row_unit const unit = row_unit_of(tiles, ends, items, block());
  tile_task const task = tiles[unit.tile];
  int const head_dim = g.shape.head_dim;
  int const stride = shared_stride(head_dim);
  auto* const queries = reinterpret_cast<float*>(shared());
  float* const gradients = queries + own_rows * stride;
  float* const keys = gradients + own_rows * stride;
  float* const values = keys + other_rows * stride;
  int const warp = static_cast<int>(thread() / warp_threads);
  float* probabilities = values + other_rows * stride + warp * weights_per_warp(2);
  int other_place = 2 * other_rows;
  bool const sees_all = task.part == key_part::all;

  operand const k = operand_of(*call, g, task, tensor::k);
  operand const v = operand_of(*call, g, task, tensor::v);
  operand const lse = operand_of(*call, g, task, tensor::lse);
  operand const delta = operand_of(*call, g, task, tensor::delta);
  load_rows<Element>(operand_of(*call, g, task, tensor::q), unit.head, unit.first_row, task.rows.begin, task.rows.end,
                     own_rows, head_dim, call->softmax_scale * log2_e, queries);
  load_rows<Element>(operand_of(*call, g, task, tensor::d_o), unit.head, unit.first_row, task.rows.begin, task.rows.end,
                     own_rows, head_dim, 1.0F, gradients);

  std::int64_t const last_row = unit.first_row + own_rows < task.rows.end ? unit.first_row + own_rows : task.rows.end;
  row_range const seen = visible_keys(g.shape.mask, task, unit.first_row, last_row);
  float sums[rows_per_warp][most_channels]{};
  float mean_keys[rows_per_warp][most_channels]{};  // weighted by the probabilities
  float total_weight[rows_per_warp]{};
  float total_probability[rows_per_warp]{};
  for (std::int64_t first = seen.begin / other_rows * other_rows; first < seen.end; first += other_rows) {
    block_barrier();
    load_rows<Element>(k, 0, first, task.keys.begin, task.keys.end, other_rows, head_dim, 1.0F, keys);
    load_rows<Element>(v, 0, first, task.keys.begin, task.keys.end, other_rows, head_dim, 1.0F, values);
    block_barrier();
    std::int64_t const key = first + lane();
#pragma unroll
    for (int r = 0; r < rows_per_warp; ++r) {
      int const own = warp * rows_per_warp + r;
      std::int64_t const row = unit.first_row + own;
      if (row >= last_row) {
        continue;
      }
      row_range const visible = visible_keys(g.shape.mask, task, row);
      if (visible.end <= first || visible.begin >= first + other_rows) {
        continue;
      }
      float p = 0.0F;
      float weight = 0.0F;
      if (key >= visible.begin && key < visible.end) {
        unsigned const at = lane() * static_cast<unsigned>(stride);
        p = probability(dot(queries + own * stride, keys + at, head_dim),
                        *lse.at<float>(row - task.rows.begin, unit.head) * log2_e);
        weight = p * (dot(gradients + own * stride, values + at, head_dim) -
                      *delta.at<float>(row - task.rows.begin, unit.head));
      }
      probabilities += other_place;
      other_place = -other_place;
      float* const weights = probabilities + other_rows;
      probabilities[lane()] = p;
      weights[lane()] = weight;
      warp_barrier();
      add_weighted(weights, keys, head_dim, sums[r]);
      if (sees_all) {
        add_weighted(probabilities, keys, head_dim, mean_keys[r]);
        total_weight[r] += warp_sum(weight);
        total_probability[r] += warp_sum(p);
      }
    }
  }

  operand const dq = operand_of(*call, g, task, task.output(tensor::dq));
#pragma unroll
  for (int r = 0; r < rows_per_warp; ++r) {
    std::int64_t const row = unit.first_row + warp * rows_per_warp + r;
    if (row >= last_row) {
      continue;
    }
    float error = 0.0F;  // of delta
    if (sees_all && total_probability[r] > 0.0F) {
      error = total_weight[r] / total_probability[r];
      if (lane() == 0) {
        *delta.at<float>(row - task.rows.begin, unit.head) += error;
      }
    }
    std::int64_t const in_tile = row - task.rows.begin;
#pragma unroll
    for (int i = 0; i < most_channels; ++i) {
      int const channel = static_cast<int>(lane()) + i * static_cast<int>(warp_threads);
      if (channel < head_dim) {
        float const mine = multiply_add(-error, mean_keys[r][i], sums[r][i]) * call->softmax_scale;
        if (sees_all) {
          store(dq.at<Element>(in_tile, unit.head) + channel, mine);
        } else {
          float* const part = dq.at<float>(in_tile, unit.head) + channel;
          *part = task.part == key_part::next ? *part + mine : mine;
        }
      }
    }
  }
}

/// Adds to a row of dk or dv: fp32 where it is a partial sum, the element type at home.
template <class Element>
LIBRA_DEVICE void add_to_row(std::byte* row, bool at_home, int head_dim, float factor,
                             float const (&sums)[most_channels]) {
#pragma unroll
  for (int i = 0; i < most_channels; ++i) {
    int const channel = static_cast<int>(lane()) + i * static_cast<int>(warp_threads);
    if (channel < head_dim) {
      if (at_home) {
        auto* const to = reinterpret_cast<Element*>(row) + channel;
        store(to, multiply_add(sums[i], factor, to_float(*to)));
      } else {
        auto* const to = reinterpret_cast<float*>(row) + channel;
        *to = multiply_add(sums[i], factor, *to);
      }
    }
  }
}

/// The gradients of keys and values: one block per 16 keys of a group of tiles.
///
/// Determinism: tiles, heads and rows in order; no two blocks add to the same row.
template <class Element>
LIBRA_KERNEL(attention_threads)
attend_backward_keys(call_parameters const* call, geometry g, tile_task const* tiles, key_group const* groups,
                     std::int64_t const* ends, std::int64_t items) {
  std::int64_t const n = item_of(ends, items, block());
  key_group const group = groups[n];
  std::int64_t const in_group = block() - (n == 0 ? 0 : ends[n - 1]);
  std::int64_t const first_key = (group.keys.begin / own_rows + in_group) * own_rows;
  int const head_dim = g.shape.head_dim;
  int const stride = shared_stride(head_dim);
  auto* const keys = reinterpret_cast<float*>(shared());
  float* const values = keys + own_rows * stride;
  float* const queries = values + own_rows * stride;
  float* const gradients = queries + other_rows * stride;
  float* const row_lse = gradients + other_rows * stride;
  float* const row_delta = row_lse + other_rows;
  int const warp = static_cast<int>(thread() / warp_threads);
  float* probabilities = row_delta + other_rows + warp * weights_per_warp(2);
  int other_place = 2 * other_rows;

  float dk[rows_per_warp][most_channels]{};
  float dv[rows_per_warp][most_channels]{};
  bool held[rows_per_warp]{};
  for (std::int64_t t = group.first; t < group.last; ++t) {
    tile_task const task = tiles[t];
    if (task.keys.end <= first_key || task.keys.begin >= first_key + own_rows) {
      continue;  // the whole block
    }
#pragma unroll
    for (int r = 0; r < rows_per_warp; ++r) {
      std::int64_t const key = first_key + warp * rows_per_warp + r;
      held[r] = held[r] || (key >= task.keys.begin && key < task.keys.end);
    }
    operand const q = operand_of(*call, g, task, tensor::q);
    operand const d_o = operand_of(*call, g, task, tensor::d_o);
    operand const lse = operand_of(*call, g, task, tensor::lse);
    operand const delta = operand_of(*call, g, task, tensor::delta);
    block_barrier();
    load_rows<Element>(operand_of(*call, g, task, tensor::k), 0, first_key, task.keys.begin, task.keys.end, own_rows,
                       head_dim, 1.0F, keys);
    load_rows<Element>(operand_of(*call, g, task, tensor::v), 0, first_key, task.keys.begin, task.keys.end, own_rows,
                       head_dim, 1.0F, values);
    for (std::int32_t head = 0; head < task.head_end - task.head_begin; ++head) {
      for (std::int64_t first = task.rows.begin; first < task.rows.end; first += other_rows) {
        std::int64_t const last = first + other_rows < task.rows.end ? first + other_rows : task.rows.end;
        row_range const seen = visible_keys(g.shape.mask, task, first, last);
        if (seen.end <= first_key || seen.begin >= first_key + own_rows) {
          continue;
        }
        block_barrier();
        load_rows<Element>(q, head, first, task.rows.begin, task.rows.end, other_rows, head_dim,
                           call->softmax_scale * log2_e, queries);
        load_rows<Element>(d_o, head, first, task.rows.begin, task.rows.end, other_rows, head_dim, 1.0F, gradients);
        if (thread() < other_rows && first + thread() < last) {
          std::int64_t const in_tile = first + thread() - task.rows.begin;
          row_lse[thread()] = *lse.at<float>(in_tile, head) * log2_e;
          row_delta[thread()] = *delta.at<float>(in_tile, head);
        }
        block_barrier();
        std::int64_t const row = first + lane();
        row_range const visible = row < last ? visible_keys(g.shape.mask, task, row) : row_range{0, 0};
#pragma unroll
        for (int r = 0; r < rows_per_warp; ++r) {
          int const own = warp * rows_per_warp + r;
          std::int64_t const key = first_key + own;
          bool const sees = key >= visible.begin && key < visible.end;
          if (!any(sees)) {
            continue;
          }
          float p = 0.0F;
          float weight = 0.0F;
          if (sees) {
            unsigned const at = lane() * static_cast<unsigned>(stride);
            p = probability(dot(queries + at, keys + own * stride, head_dim), row_lse[lane()]);
            weight = p * (dot(gradients + at, values + own * stride, head_dim) - row_delta[lane()]);
          }
          probabilities += other_place;
          other_place = -other_place;
          float* const weights = probabilities + other_rows;
          probabilities[lane()] = p;
          weights[lane()] = weight;
          warp_barrier();
          add_weighted(probabilities, gradients, head_dim, dv[r]);
          add_weighted(weights, queries, head_dim, dk[r]);
        }
      }
    }
  }

  // The group's tiles name the same rows; seen from the first one, keys count from its own first key.
  tile_task const named = tiles[group.first];
  tensor const dk_or_part = named.output(tensor::dk);
  tensor const dv_or_part = named.output(tensor::dv);
  operand const into_dk = operand_of(*call, g, named, dk_or_part);
  operand const into_dv = operand_of(*call, g, named, dv_or_part);
#pragma unroll
  for (int r = 0; r < rows_per_warp; ++r) {
    std::int64_t const key = first_key + warp * rows_per_warp + r;
    if (held[r]) {
      // The queries carry scale * log2(e), which leaves ln(2) for dk.
      add_to_row<Element>(into_dk.at(key - named.keys.begin, 0), dk_or_part == tensor::dk, head_dim, ln_2, dk[r]);
      add_to_row<Element>(into_dv.at(key - named.keys.begin, 0), dv_or_part == tensor::dv, head_dim, 1.0F, dv[r]);
    }
  }
}

}  // namespace libra::cuda::device
