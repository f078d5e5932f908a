#include <libra/host/kernel.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

namespace libra::host {

namespace {

constexpr std::align_val_t alignment{128};

/// Rows of bytes as the kernel's view: heads lie side by side, `channels` elements each.
template <class Float, class Byte>
[[nodiscard]] head_rows<Float> as_heads(strided_rows<Byte> const& rows, std::int64_t channels) {
  // Regions are aligned for their elements: workspaces by their plan, home tensors because they are spans of float.
  using pointer = std::conditional_t<std::is_const_v<Float>, void const*, void*>;
  return {static_cast<Float*>(static_cast<pointer>(rows.data)), rows.stride_bytes / std::int64_t{sizeof(float)},
          channels};
}

/// The operands of one tile.
class operands {
 public:
  operands(tile_task const& task, bindings const& at) : task_(task), at_(at) {}

  [[nodiscard]] tile_extent extent() const {
    // The mask never asks for keys beyond the panel, so the panel's end may stand for the segment's.
    return {.rows = task_.rows,
            .keys = task_.keys,
            .length = std::max(task_.rows.end, task_.keys.end),
            .heads = task_.head_end - task_.head_begin,
            .head_dim = at_.shape().head_dim,
            .mask = at_.shape().mask,
            .scale = at_.softmax_scale(),
            .all_keys = task_.part == key_part::all};
  }
  [[nodiscard]] head_rows<float const> read(tensor t) const {
    return as_heads<float const>(at_.read(task_, t), channels(t));
  }
  [[nodiscard]] head_rows<float> write(tensor t) const { return as_heads<float>(at_.write(task_, t), channels(t)); }

 private:
  [[nodiscard]] std::int64_t channels(tensor t) const { return is_statistic(t) ? 1 : at_.shape().head_dim; }

  tile_task const& task_;
  bindings const& at_;
};

[[nodiscard]] head_extent extent_of(tile_task const& task, bindings const& at) {
  return {task.rows.size(), task.head_end - task.head_begin, at.shape().head_dim};
}

/// Dense rows for what one part of a tile's keys gives. The buffer keeps its size.
[[nodiscard]] head_rows<float> temporary(std::vector<float>& buffer, tile_task const& task, std::int64_t channels) {
  std::int64_t const heads = task.head_end - task.head_begin;
  auto const elements = static_cast<std::size_t>(task.rows.size() * heads * channels);
  if (buffer.size() < elements) {
    buffer.resize(elements);
  }
  return {buffer.data(), heads * channels, channels};
}

}  // namespace

memory::memory(std::int64_t bytes)
    : first_(static_cast<std::byte*>(
          ::operator new(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)), alignment))) {
  std::memset(first_.get(), 0, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
}

void memory::release::operator()(std::byte* first) const noexcept { ::operator delete(first, alignment); }

void kernel::attend(std::span<tile_task const> tiles, bindings const& at, progress_hook poll) {
  for (tile_task const& task : tiles) {
    operands const in(task, at);
    attend_tile tile{.extent = in.extent(),
                     .q = in.read(tensor::q),
                     .k = in.read(tensor::k),
                     .v = in.read(tensor::v),
                     .o = in.write(task.output(tensor::o)),
                     .lse = in.write(tensor::lse)};
    if (task.part != key_part::next) {
      host::attend(tile, scratch_, poll);
      continue;
    }
    head_rows<float> const o = std::exchange(tile.o, temporary(part_rows_, task, at.shape().head_dim));
    head_rows<float> const lse = std::exchange(tile.lse, temporary(part_lse_, task, 1));
    host::attend(tile, scratch_, poll);
    combine(tile.o, tile.lse, o, lse, extent_of(task, at));
  }
}

void kernel::attend_backward(std::span<tile_task const> tiles, bindings const& at, progress_hook poll) {
  for (tile_task const& task : tiles) {
    operands const in(task, at);
    attend_backward_tile tile{.extent = in.extent(),
                              .q = in.read(tensor::q),
                              .k = in.read(tensor::k),
                              .v = in.read(tensor::v),
                              .d_o = in.read(tensor::d_o),
                              .lse = in.read(tensor::lse),
                              .delta = in.read(tensor::delta),
                              .dq = in.write(task.output(tensor::dq)),
                              .dk = in.write(task.output(tensor::dk)),
                              .dv = in.write(task.output(tensor::dv))};
    if (task.part != key_part::next) {
      host::attend_backward(tile, scratch_, poll);
      continue;
    }
    head_rows<float> const dq = std::exchange(tile.dq, temporary(part_rows_, task, at.shape().head_dim));
    host::attend_backward(tile, scratch_, poll);
    parts_.assign({dq, tile.dq});
    add_rows(parts_, dq, extent_of(task, at));
  }
}

void kernel::row_dot(std::span<dot_task const> dots, bindings const& at) {
  std::int32_t const head_dim = at.shape().head_dim;
  for (dot_task const& task : dots) {
    auto const rows = [&](tensor t, location where) {
      region what = task.what;
      what.what = t;
      return as_heads<float const>(at.read(what, where), head_dim);
    };
    host::row_dot(rows(tensor::d_o, task.d_o), rows(task.output(), task.o),
                  as_heads<float>(at.write(task.what, task.at), 1),
                  {task.what.tokens.size(), task.what.heads(), head_dim});
  }
}

void kernel::clear(std::span<region_task const> regions, bindings const& at) {
  for (region_task const& task : regions) {
    mutable_rows const rows = at.write(task.what, task.at);
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      std::memset(rows.row(r), 0, static_cast<std::size_t>(rows.row_bytes));
    }
  }
}

void kernel::reduce(std::span<reduce_task const> sums, std::span<location const> partials, bindings const& at) {
  std::int32_t const head_dim = at.shape().head_dim;
  for (reduce_task const& task : sums) {
    parts_.clear();
    region what = task.what;
    what.what = part_of(task.what.what);
    for (location const& part : partials.subspan(task.first, task.last - task.first)) {
      parts_.push_back(as_heads<float const>(at.read(what, part), head_dim));
    }
    add_rows(parts_, as_heads<float>(at.write(task.what, task.into), head_dim),
             {task.what.tokens.size(), task.what.heads(), head_dim});
  }
}

}  // namespace libra::host
