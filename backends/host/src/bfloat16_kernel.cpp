#include <libra/host/bfloat16_kernel.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace libra::host {

namespace {

/// Rows are widened, added and rounded so many at a time where a region may be large.
constexpr std::int64_t rows_at_once = 256;

template <class T, class Byte>
[[nodiscard]] T* elements(Byte* first) noexcept {
  // Regions are aligned for their elements: workspaces by their plan, home tensors because they are spans of them.
  using pointer = std::conditional_t<std::is_const_v<T>, void const*, void*>;
  return static_cast<T*>(static_cast<pointer>(first));
}

/// Rows `[begin, end)` of a view.
template <class Byte>
[[nodiscard]] strided_rows<Byte> some_rows(strided_rows<Byte> const& rows, std::int64_t begin, std::int64_t end) {
  return {rows.row(begin), end - begin, rows.row_bytes, rows.stride_bytes};
}

/// A dense view of `buffer` for rows of `width` elements, heads of `channels` side by side. The buffer keeps its size.
[[nodiscard]] head_rows<float> dense(std::vector<float>& buffer, std::int64_t rows, std::int64_t width,
                                     std::int64_t channels) {
  auto const needed = static_cast<std::size_t>(rows * width);
  if (buffer.size() < needed) {
    buffer.resize(needed);
  }
  return {buffer.data(), width, channels};
}

/// A copy of bf16 rows as floats.
[[nodiscard]] head_rows<float> widen(const_rows const& rows, std::int64_t channels, std::vector<float>& buffer) {
  auto const width = rows.row_bytes / std::int64_t{sizeof(bfloat16)};
  head_rows<float> const copy = dense(buffer, rows.rows, width, channels);
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    auto const* const source = elements<bfloat16 const>(rows.row(r));
    std::transform(source, source + width, copy.at(r), [](bfloat16 x) { return static_cast<float>(x); });
  }
  return copy;
}

/// Rounds floats into bf16 rows.
void narrow(head_rows<float const> const& values, mutable_rows const& rows) {
  auto const width = rows.row_bytes / std::int64_t{sizeof(bfloat16)};
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    float const* const source = values.at(r);
    std::transform(source, source + width, elements<bfloat16>(rows.row(r)), [](float x) { return bfloat16(x); });
  }
}

/// Adds floats to bf16 rows, rounding the sums.
void add_narrow(head_rows<float const> const& values, mutable_rows const& rows) {
  auto const width = rows.row_bytes / std::int64_t{sizeof(bfloat16)};
  for (std::int64_t r = 0; r < rows.rows; ++r) {
    auto* const target = elements<bfloat16>(rows.row(r));
    std::transform(target, target + width, values.at(r), target,
                   [](bfloat16 x, float y) { return bfloat16(static_cast<float>(x) + y); });
  }
}

/// fp32 rows where they are: statistics, and partial results in a workspace.
template <class Float, class Byte>
[[nodiscard]] head_rows<Float> as_floats(strided_rows<Byte> const& rows, std::int64_t channels) {
  return {elements<Float>(rows.data), rows.stride_bytes / std::int64_t{sizeof(float)}, channels};
}

[[nodiscard]] tile_extent extent_of(tile_task const& task, bindings const& at) {
  return {.rows = task.rows,
          .keys = task.keys,
          .length = std::max(task.rows.end, task.keys.end),
          .heads = task.head_end - task.head_begin,
          .head_dim = at.shape().head_dim,
          .mask = at.shape().mask,
          .scale = at.softmax_scale(),
          .all_keys = task.part == key_part::all};
}

/// Widened keys or values of a tile; those of the tile before are used again when they are the same rows.
class panel {
 public:
  [[nodiscard]] head_rows<float const> of(const_rows const& rows, std::int64_t channels, std::vector<float>& buffer) {
    if (rows != last_) {
      last_ = rows;
      copy_ = widen(rows, channels, buffer);
    }
    return copy_;
  }

 private:
  const_rows last_{nullptr, -1, 0, 0};
  head_rows<float const> copy_;
};

/// Where a tile's o or dq is made: in the workspace if it is a part, or beside its rows until it is done.
class row_result {
 public:
  row_result(tile_task const& task, tensor t, bindings const& at, std::vector<float>& buffer)
      : rows_(at.write(task, task.output(t))),
        partial_(task.part != key_part::all) {
    std::int64_t const dim = at.shape().head_dim;
    values_ = partial_ ? as_floats<float>(rows_, dim)
                       : dense(buffer, rows_.rows, (task.head_end - task.head_begin) * dim, dim);
  }
  [[nodiscard]] head_rows<float> const& values() const noexcept { return values_; }
  void finish() const {
    if (!partial_) {
      narrow(values_, rows_);
    }
  }

 private:
  mutable_rows rows_;
  bool partial_;
  head_rows<float> values_;
};

/// Where a tile's gradients of keys or values are summed: in the workspace, or beside home until it is done.
class key_gradient {
 public:
  key_gradient(tile_task const& task, tensor t, bindings const& at, std::vector<float>& buffer)
      : rows_(at.write(task, task.output(t))),
        whole_(task.output(t) == t),
        sum_(whole_ ? dense(buffer, rows_.rows, at.shape().head_dim, at.shape().head_dim)
                    : as_floats<float>(rows_, at.shape().head_dim)) {
    if (whole_) {
      std::fill_n(sum_.data, rows_.rows * at.shape().head_dim, 0.0F);
    }
  }
  [[nodiscard]] head_rows<float> const& sum() const noexcept { return sum_; }
  void finish() const {
    if (whole_) {
      add_narrow(sum_, rows_);
    }
  }

 private:
  mutable_rows rows_;
  bool whole_;
  head_rows<float> sum_;
};

}  // namespace

void bfloat16_kernel::attend(std::span<tile_task const> tiles, bindings const& at, progress_hook poll) {
  std::int64_t const dim = at.shape().head_dim;
  panel keys;
  panel values;
  for (tile_task const& task : tiles) {
    std::int64_t const heads = task.head_end - task.head_begin;
    row_result const o(task, tensor::o, at, rows_);
    auto const lse = as_floats<float>(at.write(task, tensor::lse), 1);
    attend_tile tile{.extent = extent_of(task, at),
                     .q = widen(at.read(task, tensor::q), dim, q_),
                     .k = keys.of(at.read(task, tensor::k), dim, k_),
                     .v = values.of(at.read(task, tensor::v), dim, v_),
                     .o = o.values(),
                     .lse = lse};
    if (task.part == key_part::next) {
      tile.o = dense(part_rows_, task.rows.size(), heads * dim, dim);
      tile.lse = dense(part_lse_, task.rows.size(), heads, 1);
      host::attend(tile, scratch_, poll);
      combine(tile.o, tile.lse, o.values(), lse,
              {task.rows.size(), static_cast<std::int32_t>(heads), at.shape().head_dim});
    } else {
      host::attend(tile, scratch_, poll);
      o.finish();
    }
  }
}

void bfloat16_kernel::attend_backward(std::span<tile_task const> tiles, bindings const& at, progress_hook poll) {
  std::int64_t const dim = at.shape().head_dim;
  panel keys;
  panel values;
  for (tile_task const& task : tiles) {
    std::int64_t const heads = task.head_end - task.head_begin;
    row_result const dq(task, tensor::dq, at, rows_);
    bool const adds = task.part == key_part::next;
    key_gradient const dk(task, tensor::dk, at, dk_);
    key_gradient const dv(task, tensor::dv, at, dv_);
    attend_backward_tile const tile{.extent = extent_of(task, at),
                                    .q = widen(at.read(task, tensor::q), dim, q_),
                                    .k = keys.of(at.read(task, tensor::k), dim, k_),
                                    .v = values.of(at.read(task, tensor::v), dim, v_),
                                    .d_o = widen(at.read(task, tensor::d_o), dim, d_o_),
                                    .lse = as_floats<float const>(at.read(task, tensor::lse), 1),
                                    .delta = as_floats<float const>(at.read(task, tensor::delta), 1),
                                    .dq = adds ? dense(part_rows_, task.rows.size(), heads * dim, dim) : dq.values(),
                                    .dk = dk.sum(),
                                    .dv = dv.sum()};
    host::attend_backward(tile, scratch_, poll);
    dk.finish();
    dv.finish();
    if (adds) {
      std::array<head_rows<float const>, 2> const both{dq.values(), tile.dq};
      add_rows(both, dq.values(), {task.rows.size(), static_cast<std::int32_t>(heads), at.shape().head_dim});
    } else {
      dq.finish();
    }
  }
}

void bfloat16_kernel::row_dot(std::span<dot_task const> dots, bindings const& at) {
  std::int32_t const dim = at.shape().head_dim;
  for (dot_task const& task : dots) {
    auto const rows = [&](tensor t, location where) {
      region what = task.what;
      what.what = t;
      return at.read(what, where);
    };
    const_rows const d_o = rows(tensor::d_o, task.d_o);
    const_rows const o = rows(task.output(), task.o);
    mutable_rows const delta = at.write(task.what, task.at);
    for (std::int64_t r = 0; r < d_o.rows; r += rows_at_once) {
      std::int64_t const end = std::min(r + rows_at_once, d_o.rows);
      const_rows const outputs = some_rows(o, r, end);
      head_rows<float const> const values = task.output() == tensor::o
                                                ? head_rows<float const>(widen(outputs, dim, rows_))
                                                : as_floats<float const>(outputs, dim);
      host::row_dot(widen(some_rows(d_o, r, end), dim, d_o_), values, as_floats<float>(some_rows(delta, r, end), 1),
                    {end - r, task.what.heads(), dim});
    }
  }
}

void bfloat16_kernel::clear(std::span<region_task const> regions, bindings const& at) {
  for (region_task const& task : regions) {
    mutable_rows const rows = at.write(task.what, task.at);
    for (std::int64_t r = 0; r < rows.rows; ++r) {
      std::memset(rows.row(r), 0, static_cast<std::size_t>(rows.row_bytes));
    }
  }
}

void bfloat16_kernel::reduce(std::span<reduce_task const> sums, std::span<location const> partials,
                             bindings const& at) {
  std::int64_t const dim = at.shape().head_dim;
  for (reduce_task const& task : sums) {
    mutable_rows const into = at.write(task.what, task.into);
    bool const rounds = !is_part(task.what.what);
    region part = task.what;
    part.what = part_of(task.what.what);
    std::int64_t const row_width = std::int64_t{task.what.heads()} * dim;
    for (std::int64_t r = 0; r < into.rows; r += rows_at_once) {
      std::int64_t const end = std::min(r + rows_at_once, into.rows);
      head_rows<float> const sum = dense(rows_, end - r, row_width, dim);
      std::fill_n(sum.data, (end - r) * row_width, 0.0F);
      for (location const& from : partials.subspan(task.first, task.last - task.first)) {
        auto const values = as_floats<float const>(some_rows(at.read(part, from), r, end), dim);
        std::array<head_rows<float const>, 2> const both{sum, values};
        add_rows(both, sum, {end - r, task.what.heads(), at.shape().head_dim});
      }
      mutable_rows const target = some_rows(into, r, end);
      if (rounds) {
        narrow(sum, target);
      } else {
        for (std::int64_t i = 0; i < target.rows; ++i) {
          std::memcpy(target.row(i), sum.at(i), static_cast<std::size_t>(target.row_bytes));
        }
      }
    }
  }
}

}  // namespace libra::host
