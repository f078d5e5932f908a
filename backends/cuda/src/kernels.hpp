#pragma once

#include "parameters.hpp"
#include "task_list.hpp"

#include <libra/cuda/element.hpp>
#include <libra/cuda/stream.hpp>
#include <libra/program/ops.hpp>

#include <cstddef>

namespace libra::cuda {

/// Enqueues kernels on one stream for the calls of one plan. Nothing is launched for a list without units.
struct launcher {
  stream_ref in;
  geometry shape;
  call_parameters const* call{};

  template <element Element>
  void attend(task_list<tile_task> const& tiles) const;
  template <element Element>
  void attend_backward_rows(task_list<tile_task> const& tiles) const;
  /// `tiles` are sorted by group.
  template <element Element>
  void attend_backward_keys(tile_task const* tiles, task_list<key_group> const& groups) const;
  template <element Element>
  void row_dot(task_list<dot_task> const& dots) const;
  void clear(task_list<region_task> const& regions) const;
  template <element Element>
  void reduce(task_list<reduce_task> const& sums, location const* partials) const;
};

void launch_set_parameters(call_parameters* to, call_parameters const& value, stream_ref in);
void launch_gather(call_parameters const* call, task_list<row_move> const& moves, std::byte* wire, stream_ref in);
void launch_scatter(call_parameters const* call, task_list<row_move> const& moves, std::byte* wire, stream_ref in);

}  // namespace libra::cuda
