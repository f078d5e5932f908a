#include "kernels.hpp"

#include "attend.cuh"
#include "attend_backward.cuh"
#include "launch.hpp"
#include "movers.cuh"
#include "regions.cuh"

#include <algorithm>

namespace libra::cuda {

namespace {

/// Enough blocks to fill any device; each takes the next rows when it is done with its own.
constexpr std::int64_t most_region_blocks = 1024;

[[nodiscard]] launch_extent over_rows(std::int64_t rows) {
  constexpr std::int64_t rows_per_block = device::region_threads / device::warp_threads;
  return {std::min((rows + rows_per_block - 1) / rows_per_block, most_region_blocks), device::region_threads, 0};
}

}  // namespace

template <element Element>
void launcher::attend(task_list<tile_task> const& tiles) const {
  if (tiles.units() > 0) {
    launch(in, {tiles.units(), device::attention_threads, device::attend_shared_bytes(shape.shape.head_dim)},
           device::attend_rows<Element>, call, shape, tiles.items(), tiles.ends(), tiles.count());
  }
}

template <element Element>
void launcher::attend_backward_rows(task_list<tile_task> const& tiles) const {
  if (tiles.units() > 0) {
    launch(in, {tiles.units(), device::attention_threads, device::backward_rows_shared_bytes(shape.shape.head_dim)},
           device::attend_backward_rows<Element>, call, shape, tiles.items(), tiles.ends(), tiles.count());
  }
}

template <element Element>
void launcher::attend_backward_keys(tile_task const* tiles, task_list<key_group> const& groups) const {
  if (groups.units() > 0) {
    launch(in, {groups.units(), device::attention_threads, device::backward_keys_shared_bytes(shape.shape.head_dim)},
           device::attend_backward_keys<Element>, call, shape, tiles, groups.items(), groups.ends(), groups.count());
  }
}

template <element Element>
void launcher::row_dot(task_list<dot_task> const& dots) const {
  if (dots.units() > 0) {
    launch(in, over_rows(dots.units()), device::dot_rows<Element>, call, shape, dots.items(), dots.ends(),
           dots.count());
  }
}

void launcher::clear(task_list<region_task> const& regions) const {
  if (regions.units() > 0) {
    launch(in, over_rows(regions.units()), device::clear_rows, call, shape, regions.items(), regions.ends(),
           regions.count());
  }
}

template <element Element>
void launcher::reduce(task_list<reduce_task> const& sums, location const* partials) const {
  if (sums.units() > 0) {
    launch(in, over_rows(sums.units()), device::reduce_rows<Element>, call, shape, sums.items(), sums.ends(),
           sums.count(), partials);
  }
}

void launch_set_parameters(call_parameters* to, call_parameters const& value, stream_ref in) {
  launch(in, {1, 1, 0}, device::set_parameters, to, value);
}

void launch_gather(call_parameters const* call, task_list<row_move> const& moves, std::byte* wire, stream_ref in) {
  if (moves.units() > 0) {
    launch(in, over_rows(moves.units()), device::move_rows<device::direction::gather>, call, moves.items(),
           moves.ends(), moves.count(), wire);
  }
}

void launch_scatter(call_parameters const* call, task_list<row_move> const& moves, std::byte* wire, stream_ref in) {
  if (moves.units() > 0) {
    launch(in, over_rows(moves.units()), device::move_rows<device::direction::scatter>, call, moves.items(),
           moves.ends(), moves.count(), wire);
  }
}

// clang-format off
#define LIBRA_INSTANTIATE(Element)                                                                                   \
  template void launcher::attend<Element>(task_list<tile_task> const&) const;                                        \
  template void launcher::attend_backward_rows<Element>(task_list<tile_task> const&) const;                          \
  template void launcher::attend_backward_keys<Element>(tile_task const*, task_list<key_group> const&) const;        \
  template void launcher::row_dot<Element>(task_list<dot_task> const&) const;                                        \
  template void launcher::reduce<Element>(task_list<reduce_task> const&, location const*) const;
LIBRA_INSTANTIATE(float)
LIBRA_INSTANTIATE(bf16)
LIBRA_INSTANTIATE(fp16)
#undef LIBRA_INSTANTIATE
// clang-format on

}  // namespace libra::cuda
