#pragma once

#include <libra/core/checked.hpp>
#include <libra/model/machine.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>
#include <libra/sim/kernel_time.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

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
  return rows_times_heads(task.what) * (task.at.at_home() ? home_row_bytes(task.what.what, shape, width)
                                                          : wire_row_bytes(task.what.what, shape, width));
}

/// Bytes that a `reduce` reads and writes.
[[nodiscard]] inline std::int64_t reduced_bytes(reduce_task const& task, attention_shape const& shape,
                                                element_bytes const& width) noexcept {
  return rows_times_heads(task.what) * (home_row_bytes(task.what.what, shape, width) +
                                        (task.last - task.first) * wire_row_bytes(task.what.what, shape, width));
}

}  // namespace detail

/// How long an op of the compute queue takes while nothing slows it down.
///
/// A batch of tiles takes its tiles' times and one launch. Ops that only move memory (`clear`, `reduce`) take the
/// bytes they touch at the machine's memory bandwidth. `row_dot` takes nothing: rates fitted to a whole backward pass
/// hold it. Units: picoseconds. Errors: `range_error` beyond int64. Complexity: linear in the op's items.
template <tile_time Time>
[[nodiscard]] std::int64_t op_time_ps(program const& of, op const& o, op_context<Time> const& with) {
  attention_shape const& shape = with.batch.shape;
  int128 bytes = 0;
  switch (o.kind) {
    case op_kind::attend:
    case op_kind::attend_backward: {
      int128 ps = o.items.size() == 0 ? 0 : with.time.launch_ps(with.direction);
      for (tile_task const& t : of.tiles_of(o)) {
        ps += with.time(tile_shape{t.rows.begin, t.rows.end, with.batch.length(t.segment), t.head_end - t.head_begin,
                                   shape.head_dim, shape.mask},
                        t.keys, with.direction);
      }
      return checked_int64(ps, "a batch of tiles' time in picoseconds");
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
  return rate == 0 ? 0 : checked_int64(ceil_div(bytes * 1'000'000'000'000, rate), "an op's time in picoseconds");
}

}  // namespace libra::sim
