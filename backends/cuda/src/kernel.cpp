#include <libra/cuda/kernel.hpp>

#include "kernels.hpp"
#include "task_list.hpp"

#include <libra/core/error.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::cuda {

struct device_batch::lists {
  op_kind kind{};
  geometry shape;
  /// One launch each, in order: no two tiles of one list have a row of a head in common.
  std::vector<task_list<tile_task>> tiles;
  /// Backward: the tiles sorted by the rows of dk and dv that they add to.
  device_buffer<tile_task> by_keys;
  task_list<key_group> groups;
  task_list<region_task> regions;
  task_list<dot_task> dots;
  task_list<reduce_task> sums;
  device_buffer<location> partials;
};

namespace {

/// Where key 0 of the tile's segment would lie: equal for tiles that count the same rows.
[[nodiscard]] std::pair<bool, std::int64_t> key_zero(tile_task const& t, tensor gradient, geometry const& g) {
  tensor const what = t.output(gradient);
  location const at = t.where(what);
  return at.at_home() ? std::pair(true, at.local_token() - t.keys.begin)
                      : std::pair(false, at.byte() - t.keys.begin * head_row_bytes(what, g.shape, g.width()));
}

[[nodiscard]] constexpr bool overlap(std::int64_t a_begin, std::int64_t a_end, std::int64_t b_begin,
                                     std::int64_t b_end) {
  return a_begin < b_end && b_begin < a_end;
}

/// Parts of the same rows' keys, in order, so that each adds to what the ones before have written.
[[nodiscard]] std::vector<std::vector<tile_task>> one_after_another(std::span<tile_task const> tiles) {
  std::map<segment_id, std::vector<std::pair<tile_task const*, std::size_t>>> placed;
  std::vector<std::vector<tile_task>> lists;
  for (tile_task const& t : tiles) {
    auto& others = placed[t.segment];
    std::size_t turn = 0;
    for (auto const& [other, others_turn] : others) {
      if (overlap(t.rows.begin, t.rows.end, other->rows.begin, other->rows.end) &&
          overlap(t.head_begin, t.head_end, other->head_begin, other->head_end)) {
        turn = std::max(turn, others_turn + 1);
      }
    }
    if (t.part != key_part::all) {
      others.emplace_back(&t, turn);
    }
    if (lists.size() <= turn) {
      lists.resize(turn + 1);
    }
    lists[turn].push_back(t);
  }
  return lists;
}

struct grouped_tiles {
  std::vector<tile_task> tiles;
  std::vector<key_group> groups;
};

[[nodiscard]] grouped_tiles group_by_keys(std::span<tile_task const> tiles, geometry const& g) {
  auto const key = [&](tile_task const& t) {
    return std::tuple(t.segment, t.head_begin / g.shape.group(), key_zero(t, tensor::dk, g),
                      key_zero(t, tensor::dv, g));
  };
  grouped_tiles result;
  result.tiles.assign(tiles.begin(), tiles.end());
  std::ranges::stable_sort(result.tiles, {}, key);
  for (std::size_t i = 0; i < result.tiles.size(); ++i) {
    tile_task const& t = result.tiles[i];
    auto const at = static_cast<std::int64_t>(i);
    if (i == 0 || key(result.tiles[i - 1]) != key(t)) {
      result.groups.push_back({at, at, t.keys});
    }
    key_group& group = result.groups.back();
    group.last = at + 1;
    group.keys = {std::min(group.keys.begin, t.keys.begin), std::max(group.keys.end, t.keys.end)};
  }
  return result;
}

[[nodiscard]] std::vector<task_list<tile_task>> upload_in_turn(std::span<tile_task const> tiles, stream_ref in) {
  std::vector<task_list<tile_task>> result;
  for (auto const& list : one_after_another(tiles)) {
    result.emplace_back(list, in);
  }
  return result;
}

template <class T>
[[nodiscard]] device_buffer<T> upload(std::span<T const> items, stream_ref in) {
  device_buffer<T> result(items.size(), in, "a plan's lists");
  copy(items, result.span(), in);
  in.synchronize();
  return result;
}

}  // namespace

device_batch::device_batch() noexcept = default;
device_batch::device_batch(std::unique_ptr<lists> made) noexcept : lists_(std::move(made)) {}
device_batch::~device_batch() = default;
device_batch::device_batch(device_batch&&) noexcept = default;
device_batch& device_batch::operator=(device_batch&&) noexcept = default;

parameter_block::parameter_block(context& in) : in_(&in), block_(1, in.compute()) {}
parameter_block::~parameter_block() = default;
parameter_block::parameter_block(parameter_block&&) noexcept = default;
parameter_block& parameter_block::operator=(parameter_block&&) noexcept = default;

call_parameters const* parameter_block::address() const noexcept { return block_.address(); }

void parameter_block::set(bindings const& at) {
  call_parameters value;
  for (std::size_t t = 0; t < tensor_count; ++t) {
    // Kernels write to outputs only; which they are has been checked.
    value.home[t] = const_cast<std::byte*>(at.home_address(static_cast<tensor>(t)));
  }
  value.workspace = at.workspace_address();
  value.softmax_scale = at.softmax_scale();
  launch_set_parameters(block_.address(), value, in_->compute());
}

namespace {

void check_tile(tile_task const& t, bool backward, bindings const& at) {
  static constexpr std::array forward_reads{tensor::q, tensor::k, tensor::v};
  static constexpr std::array forward_writes{tensor::o, tensor::lse};
  static constexpr std::array backward_reads{tensor::q, tensor::k, tensor::v, tensor::d_o, tensor::lse, tensor::delta};
  static constexpr std::array backward_writes{tensor::dq, tensor::dk, tensor::dv};
  auto const read = [&](tensor what) { static_cast<void>(at.read(t, what)); };
  auto const write = [&](tensor what) { static_cast<void>(at.write(t, t.output(what))); };
  if (backward) {
    std::ranges::for_each(backward_reads, read);
    std::ranges::for_each(backward_writes, write);
    if (t.part == key_part::all) {
      write(tensor::delta);  // corrected
    }
  } else {
    std::ranges::for_each(forward_reads, read);
    std::ranges::for_each(forward_writes, write);
  }
}

void check_dot(dot_task const& task, bindings const& at) {
  region what = task.what;
  what.what = tensor::d_o;
  static_cast<void>(at.read(what, task.d_o));
  what.what = task.output();
  static_cast<void>(at.read(what, task.o));
  static_cast<void>(at.write(task.what, task.at));
}

void check_sum(reduce_task const& task, std::span<location const> partials, bindings const& at) {
  require(task.first < task.last && task.last <= partials.size(), "a sum is of partial results [", task.first, ", ",
          task.last, ") of ", partials.size(), ", expected at least one");
  region part = task.what;
  part.what = part_of(task.what.what);
  for (location const& from : partials.subspan(task.first, task.last - task.first)) {
    static_cast<void>(at.read(part, from));
  }
  static_cast<void>(at.write(task.what, task.into));
}

}  // namespace

void check_regions(op const& what, program const& of, bindings const& at) {
  switch (what.kind) {
    case op_kind::attend:
    case op_kind::attend_backward:
      for (tile_task const& t : of.tiles_of(what)) {
        check_tile(t, what.kind == op_kind::attend_backward, at);
      }
      break;
    case op_kind::row_dot:
      for (dot_task const& t : of.dots_of(what)) {
        check_dot(t, at);
      }
      break;
    case op_kind::clear:
      for (region_task const& t : of.clears_of(what)) {
        static_cast<void>(at.write(t.what, t.at));
      }
      break;
    case op_kind::reduce:
      for (reduce_task const& t : of.reduces_of(what)) {
        check_sum(t, of.partials, at);
      }
      break;
    case op_kind::exchange:
      for (transfer const& t : of.sends_of(what)) {
        static_cast<void>(at.read(t.what, t.at));
      }
      for (transfer const& t : of.receives_of(what)) {
        static_cast<void>(at.write(t.what, t.at));
      }
      break;
  }
}

namespace {

[[nodiscard]] op alone(op_kind kind, std::size_t items) {
  op result;
  result.kind = kind;
  result.on = queue::compute;
  result.items = {0, static_cast<std::uint32_t>(items)};
  return result;
}

}  // namespace

template <element Element>
kernel<Element>::kernel(context& in) : in_(&in),
                                       own_parameters_(in) {}

template <element Element>
device_batch kernel<Element>::prepare(op const& what, program const& of, attention_shape const& shape) {
  validate(shape);
  stream_ref const in = in_->compute();
  auto made = std::make_unique<device_batch::lists>();
  made->kind = what.kind;
  made->shape = {shape, width.activation};
  switch (what.kind) {
    case op_kind::attend:
      made->tiles = upload_in_turn(of.tiles_of(what), in);
      break;
    case op_kind::attend_backward: {
      made->tiles = upload_in_turn(of.tiles_of(what), in);
      grouped_tiles const grouped = group_by_keys(of.tiles_of(what), made->shape);
      made->by_keys = upload(std::span(grouped.tiles), in);
      made->groups = task_list(std::span(grouped.groups), in);
      break;
    }
    case op_kind::row_dot:
      made->dots = task_list(of.dots_of(what), in);
      break;
    case op_kind::clear:
      made->regions = task_list(of.clears_of(what), in);
      break;
    case op_kind::reduce:
      made->sums = task_list(of.reduces_of(what), in);
      made->partials = upload(std::span(of.partials), in);
      break;
    case op_kind::exchange:
      break;  // the transport's affair
  }
  return device_batch(std::move(made));
}

template <element Element>
void kernel<Element>::run(device_batch const& batch, parameter_block const& at, queue on) {
  device_batch::lists const& l = *batch.lists_;
  launcher const launch{in_->on(on), l.shape, at.address()};
  switch (l.kind) {
    case op_kind::attend:
      for (auto const& tiles : l.tiles) {
        launch.attend<Element>(tiles);
      }
      break;
    case op_kind::attend_backward:
      for (auto const& tiles : l.tiles) {
        launch.attend_backward_rows<Element>(tiles);
      }
      launch.attend_backward_keys<Element>(l.by_keys.address(), l.groups);
      break;
    case op_kind::row_dot:
      launch.row_dot<Element>(l.dots);
      break;
    case op_kind::clear:
      launch.clear(l.regions);
      break;
    case op_kind::reduce:
      launch.reduce<Element>(l.sums, l.partials.address());
      break;
    case op_kind::exchange:
      break;
  }
}

template <element Element>
void kernel<Element>::run_alone(program const& only, bindings const& at) {
  check_regions(only.ops.front(), only, at);
  device_batch batch = prepare(only.ops.front(), only, at.shape());
  own_parameters_.set(at);
  run(batch, own_parameters_);
  // Preparing has waited for the stream, so nothing uses the last batch any more.
  last_ = std::move(batch);
}

template <element Element>
void kernel<Element>::attend(std::span<tile_task const> tiles, bindings const& at) {
  program only;
  only.tiles.assign(tiles.begin(), tiles.end());
  only.ops.push_back(alone(op_kind::attend, tiles.size()));
  run_alone(only, at);
}

template <element Element>
void kernel<Element>::attend_backward(std::span<tile_task const> tiles, bindings const& at) {
  program only;
  only.tiles.assign(tiles.begin(), tiles.end());
  only.ops.push_back(alone(op_kind::attend_backward, tiles.size()));
  run_alone(only, at);
}

template <element Element>
void kernel<Element>::row_dot(std::span<dot_task const> dots, bindings const& at) {
  program only;
  only.dots.assign(dots.begin(), dots.end());
  only.ops.push_back(alone(op_kind::row_dot, dots.size()));
  run_alone(only, at);
}

template <element Element>
void kernel<Element>::clear(std::span<region_task const> regions, bindings const& at) {
  program only;
  only.clears.assign(regions.begin(), regions.end());
  only.ops.push_back(alone(op_kind::clear, regions.size()));
  run_alone(only, at);
}

template <element Element>
void kernel<Element>::reduce(std::span<reduce_task const> sums, std::span<location const> partials,
                             bindings const& at) {
  program only;
  only.reduces.assign(sums.begin(), sums.end());
  only.partials.assign(partials.begin(), partials.end());
  only.ops.push_back(alone(op_kind::reduce, sums.size()));
  run_alone(only, at);
}

template class kernel<float>;
template class kernel<bf16>;
template class kernel<fp16>;

}  // namespace libra::cuda
