#pragma once

#include <libra/core/checked.hpp>
#include <libra/model/machine.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>
#include <libra/sim/kernel_time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace libra::sim {

/// What an op's duration depends on beside its program.
template <tile_time Time>
struct op_context {
  pool_batch const& batch;
  pass direction{};
  element_bytes width;
  machine const& rates;
  Time const& time;
};

namespace detail {

[[nodiscard]] inline std::int64_t rows_times_heads(region const& r) noexcept { return r.tokens.size() * r.heads(); }

/// Bytes that a `clear` writes.
[[nodiscard]] inline std::int64_t cleared_bytes(region_task const& task, attention_shape const& shape,
                                                element_bytes const& width) noexcept {
  return rows_times_heads(task.what) * head_row_bytes(task.what.what, shape, width);
}

/// Memory traffic, per channel, of adding a part of a tile's result to what earlier parts left in fp32.
///
/// Forward, published rings combine `o` by the log-sum-exp in elementwise steps: the part is cast (2 + 4 bytes),
/// subtracted (12), scaled (8) and subtracted again (12) (zhuzilin/ring-flash-attention, `update_out_and_lse`); that is
/// what MagiAttention's figures for rings inside one node amount to, where the wire is idle. Backward, dq is added in
/// one step.
inline constexpr std::int64_t forward_combine_bytes = 38;
inline constexpr std::int64_t backward_combine_bytes = 10;

/// Bytes that a `reduce` reads and writes.
[[nodiscard]] inline std::int64_t reduced_bytes(reduce_task const& task, attention_shape const& shape,
                                                element_bytes const& width) noexcept {
  return rows_times_heads(task.what) *
         (head_row_bytes(task.what.what, shape, width) +
          (task.last - task.first) * head_row_bytes(part_of(task.what.what), shape, width));
}

}  // namespace detail

/// How long an exchange's rank moves rows between its home tensors and what it sends or receives.
struct copy_time {
  std::int64_t before_ps{};  ///< rows of single heads into what is sent
  std::int64_t after_ps{};   ///< and back out of what was received

  friend constexpr bool operator==(copy_time const&, copy_time const&) = default;
};

/// Rows at home lie between those of other heads: what is sent or received of them is copied, read and written at
/// memory bandwidth. Rows of all heads are sent as they lie, and so are rows in the workspace.
///
/// Units: picoseconds. Errors: `range_error` beyond int64. Complexity: linear in the op's transfers.
[[nodiscard]] inline copy_time copy_time_of(program const& of, op const& o, attention_shape const& shape,
                                            element_bytes const& width, std::int64_t memory_bytes_per_second) {
  auto const copying_ps = [&](std::span<transfer const> transfers) {
    int128 bytes = 0;
    for (transfer const& t : transfers) {
      if (t.at.at_home() && t.what.heads() < heads_of(t.what.what, shape)) {
        bytes += int128{2} * detail::rows_times_heads(t.what) * head_row_bytes(t.what.what, shape, width);
      }
    }
    return checked_int64(ceil_div(bytes * 1'000'000'000'000, memory_bytes_per_second), "a copy's picoseconds");
  };
  if (memory_bytes_per_second == 0) {
    return {};
  }
  return {copying_ps(of.sends_of(o)), copying_ps(of.receives_of(o))};
}

/// How long an op of the compute queue takes while nothing slows it down.
///
/// A batch of tiles takes its tiles' times and one launch, and combining parts of results (rings) takes memory
/// bandwidth. So do ops that only move memory (`clear`, `reduce`). `row_dot` takes nothing: rates fitted to a whole
/// backward pass hold it. Units: picoseconds. Errors: `range_error` beyond int64. Complexity: linear in the op's items.
template <tile_time Time>
[[nodiscard]] std::int64_t op_time_ps(program const& of, op const& o, op_context<Time> const& with) {
  attention_shape const& shape = with.batch.shape;
  int128 ps = 0;
  int128 bytes = 0;
  switch (o.kind) {
    case op_kind::attend:
    case op_kind::attend_backward: {
      ps = o.items.size() == 0 ? 0 : with.time.launch_ps(with.direction);
      tile_task const* before = nullptr;
      for (tile_task const& t : of.tiles_of(o)) {
        ps += with.time(tile_shape{t.rows.begin, t.rows.end, with.batch.length(t.segment), t.head_end - t.head_begin,
                                   shape.head_dim, shape.mask},
                        t.keys, with.direction);
        // Parts of the same rows in one batch are one part to the kernel.
        bool const new_rows = before == nullptr || before->segment != t.segment || before->head_begin != t.head_begin ||
                              before->rows != t.rows;
        before = &t;
        if (t.part == key_part::next && new_rows) {
          bytes += int128{t.rows.size()} * (t.head_end - t.head_begin) * shape.head_dim *
                   (with.direction == pass::forward ? detail::forward_combine_bytes : detail::backward_combine_bytes);
        }
      }
      break;
    }
    case op_kind::clear:
      for (region_task const& t : of.clears_of(o)) {
        bytes += detail::cleared_bytes(t, shape, with.width);
      }
      break;
    case op_kind::reduce:
      for (reduce_task const& t : of.reduces_of(o)) {
        bytes += detail::reduced_bytes(t, shape, with.width);
      }
      break;
    default:
      break;
  }
  std::int64_t const rate = with.rates.memory_bytes_per_second;
  ps += rate == 0 ? 0 : ceil_div(bytes * 1'000'000'000'000, rate);
  return checked_int64(ps, "an op's time in picoseconds");
}

}  // namespace libra::sim
