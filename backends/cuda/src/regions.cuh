#pragma once

#include "device.hpp"
#include "operands.hpp"

namespace libra::cuda::device {

inline constexpr unsigned region_threads = 128;

/// Calls `visit(item, row)` for the rows of a list of items, a warp at a time, over the whole grid.
template <class Visit>
LIBRA_DEVICE void for_each_row(std::int64_t const* ends, std::int64_t items, Visit visit) {
  std::int64_t const rows = ends[items - 1];
  std::int64_t const step = std::int64_t{blocks()} * (region_threads / warp_threads);
  for (std::int64_t unit = std::int64_t{block()} * (region_threads / warp_threads) + thread() / warp_threads;
       unit < rows; unit += step) {
    std::int64_t const n = item_of(ends, items, unit);
    visit(n, unit - (n == 0 ? 0 : ends[n - 1]));
  }
}

/// What a lane adds to the dot product of two rows: those of its channels.
template <class A, class B>
LIBRA_DEVICE float dot_of_lane(A const* a, B const* b, int channels) {
  float sum = 0.0F;
  for (int c = static_cast<int>(lane()); c < channels; c += static_cast<int>(warp_threads)) {
    sum = multiply_add(to_float(a[c]), to_float(b[c]), sum);
  }
  return sum;
}

/// `delta = rowsum(d_o * o)`.
template <class Element>
LIBRA_KERNEL(region_threads)
dot_rows(call_parameters const* call, geometry g, dot_task const* tasks, std::int64_t const* ends, std::int64_t items) {
  for_each_row(ends, items, [&](std::int64_t n, std::int64_t row) {
    dot_task const task = tasks[n];
    auto const rows_of = [&](tensor t, location where) {
      region what = task.what;
      what.what = t;
      return operand_of(*call, g, what, where);
    };
    bool const rounded = task.output() == tensor::o;
    operand const d_o = rows_of(tensor::d_o, task.d_o);
    operand const o = rows_of(task.output(), task.o);
    operand const delta = rows_of(tensor::delta, task.at);
    for (std::int32_t head = 0; head < task.what.head_end - task.what.head_begin; ++head) {
      float const part = rounded ? dot_of_lane(d_o.at<Element>(row, head), o.at<Element>(row, head), g.shape.head_dim)
                                 : dot_of_lane(d_o.at<Element>(row, head), o.at<float>(row, head), g.shape.head_dim);
      float const sum = warp_sum(part);
      if (lane() == 0) {
        *delta.at<float>(row, head) = sum;
      }
    }
  });
}

/// Sets regions to zero.
LIBRA_KERNEL(region_threads)
clear_rows(call_parameters const* call, geometry g, region_task const* tasks, std::int64_t const* ends,
           std::int64_t items) {
  for_each_row(ends, items, [&](std::int64_t n, std::int64_t row) {
    region_task const task = tasks[n];
    operand const to = operand_of(*call, g, task.what, task.at);
    std::int64_t const words = (task.what.head_end - task.what.head_begin) * to.head_bytes / 4;
    auto* const first = to.at<std::uint32_t>(row, 0);
    for (std::int64_t w = lane(); w < words; w += warp_threads) {
      first[w] = 0;
    }
  });
}

/// Sums partial results in the order in which they are listed.
template <class Element>
LIBRA_KERNEL(region_threads)
reduce_rows(call_parameters const* call, geometry g, reduce_task const* tasks, std::int64_t const* ends,
            std::int64_t items, location const* partials) {
  for_each_row(ends, items, [&](std::int64_t n, std::int64_t row) {
    reduce_task const task = tasks[n];
    operand const into = operand_of(*call, g, task.what, task.into);
    bool const rounds = !is_part(task.what.what);
    region part_region = task.what;
    part_region.what = part_of(task.what.what);
    int const channels = (task.what.head_end - task.what.head_begin) * g.shape.head_dim;
    for (int c = static_cast<int>(lane()); c < channels; c += static_cast<int>(warp_threads)) {
      float sum = 0.0F;
      for (std::uint32_t p = task.first; p < task.last; ++p) {
        float const part = operand_of(*call, g, part_region, partials[p]).at<float>(row, 0)[c];
        sum = p == task.first ? part : sum + part;
      }
      if (rounds) {
        store(into.at<Element>(row, 0) + c, sum);
      } else {
        into.at<float>(row, 0)[c] = sum;
      }
    }
  });
}

/// Writes the parameters of the next call to where the plan's kernels read them.
LIBRA_KERNEL(1) set_parameters(call_parameters* to, call_parameters value) { *to = value; }

}  // namespace libra::cuda::device
