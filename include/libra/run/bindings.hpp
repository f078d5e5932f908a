#pragma once

#include <libra/core/error.hpp>
#include <libra/model/shape.hpp>
#include <libra/program/ops.hpp>
#include <libra/run/strided_rows.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace libra {

/// The factor of `q . k` before the softmax that attention uses unless told otherwise: `1 / sqrt(head_dim)`.
[[nodiscard]] inline float default_softmax_scale(attention_shape const& shape) {
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
}

/// The part of tensor `t` that a tile reads or writes.
[[nodiscard]] constexpr region region_of(tile_task const& task, tensor t, attention_shape const& shape) noexcept {
  if (has_kv_heads(t)) {
    std::int32_t const head = task.head_begin / shape.group();
    return {t, task.segment, head, head + 1, task.keys};
  }
  return {t, task.segment, task.head_begin, task.head_end, task.rows};
}

/// Binds a program's locations to the memory of one call: turns a region and where it is into strided rows.
///
/// A program is the same for every call; what changes is where the home tensors and the workspace are. Only addresses
/// are computed here, so that the memory may be a device's.
class bindings {
 public:
  constexpr bindings(attention_shape const& shape, element_bytes const& width, std::int64_t local_tokens) noexcept
      : shape_(shape),
        width_(width),
        local_tokens_(local_tokens) {}

  /// Binds a home tensor, `[local_tokens, heads, head_dim]` (`[local_tokens, heads]` for statistics), that is only
  /// read.
  constexpr bindings& input(tensor t, std::byte const* first) noexcept {
    home_[static_cast<std::size_t>(t)] = {first, nullptr};
    return *this;
  }
  /// Binds a home tensor that may be read and written.
  constexpr bindings& output(tensor t, std::byte* first) noexcept {
    home_[static_cast<std::size_t>(t)] = {first, first};
    return *this;
  }
  constexpr bindings& workspace(std::byte* first, std::int64_t bytes) noexcept {
    workspace_ = first;
    workspace_bytes_ = bytes;
    return *this;
  }
  constexpr bindings& softmax_scale(float scale) noexcept {
    scale_ = scale;
    return *this;
  }

  [[nodiscard]] constexpr attention_shape const& shape() const noexcept { return shape_; }
  [[nodiscard]] constexpr element_bytes const& width() const noexcept { return width_; }
  [[nodiscard]] constexpr std::int64_t local_tokens() const noexcept { return local_tokens_; }
  [[nodiscard]] constexpr float softmax_scale() const noexcept { return scale_; }
  /// The first byte of a home tensor; null where none is bound.
  [[nodiscard]] constexpr std::byte const* home_address(tensor t) const noexcept {
    return home_[static_cast<std::size_t>(t)].read;
  }
  [[nodiscard]] constexpr std::byte* workspace_address() const noexcept { return workspace_; }

  /// The rows of a region that an op reads.
  ///
  /// Errors: `run_error` naming the region when it is nowhere, not bound or out of bounds.
  [[nodiscard]] constexpr const_rows read(region const& what, location at) const {
    home_tensor const& home = home_[static_cast<std::size_t>(what.what)];
    return view<std::byte const>(what, at, home.read);
  }
  /// The rows of a region that an op writes. Errors: as `read`, and when the tensor is an input of this call.
  [[nodiscard]] constexpr mutable_rows write(region const& what, location at) const {
    home_tensor const& home = home_[static_cast<std::size_t>(what.what)];
    if (at.at_home() && home.write == nullptr && home.read != nullptr) {
      throw run_error(message("program writes ", name_of(what.what), ", an input of this call"));
    }
    return view<std::byte>(what, at, home.write);
  }

  /// The rows of a tile's operand.
  [[nodiscard]] constexpr const_rows read(tile_task const& task, tensor t) const {
    return read(region_of(task, t, shape_), task.where(t));
  }
  [[nodiscard]] constexpr mutable_rows write(tile_task const& task, tensor t) const {
    return write(region_of(task, t, shape_), task.where(t));
  }

 private:
  struct home_tensor {
    std::byte const* read{};
    std::byte* write{};
  };

  template <class Byte>
  [[nodiscard]] constexpr strided_rows<Byte> view(region const& what, location at, Byte* home) const {
    std::int64_t const tokens = what.tokens.size();
    std::int64_t const heads = heads_of(what.what, shape_);
    if (what.head_begin < 0 || what.head_begin > what.head_end || what.head_end > heads || tokens < 0) {
      fail(what, " is not a part of its tensor");
    }
    std::int64_t const head_bytes = head_row_bytes(what.what, shape_, width_);
    std::int64_t const row_bytes = what.heads() * head_bytes;
    if (at.at_home()) {
      if (at.local_token() + tokens > local_tokens_) {
        fail(what, message(" ends at local token ", at.local_token() + tokens, " of ", local_tokens_));
      }
      if (home == nullptr && tokens > 0) {
        fail(what, " is at home, where its tensor is not bound");
      }
      std::int64_t const offset = (at.local_token() * heads + what.head_begin) * head_bytes;
      return {tokens == 0 ? home : home + offset, tokens, row_bytes, heads * head_bytes};
    }
    if (!at.in_workspace()) {
      fail(what, " is nowhere");
    }
    if (at.byte() + tokens * row_bytes > workspace_bytes_) {
      fail(what, message(" ends at byte ", at.byte() + tokens * row_bytes, " of a workspace of ", workspace_bytes_));
    }
    return {workspace_ + at.byte(), tokens, row_bytes, row_bytes};
  }

  [[noreturn]] static void fail(region const& what, std::string const& why) {
    throw run_error(message("region ", name_of(what.what), " of segment ", what.segment.value, ", heads [",
                            what.head_begin, ", ", what.head_end, "), tokens [", what.tokens.begin, ", ",
                            what.tokens.end, ")", why));
  }

  attention_shape shape_;
  element_bytes width_;
  std::int64_t local_tokens_{};
  std::array<home_tensor, tensor_count> home_{};
  std::byte* workspace_{};
  std::int64_t workspace_bytes_{};
  float scale_{1.0F};
};

}  // namespace libra
