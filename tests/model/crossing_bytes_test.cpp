#include <libra/model/crossing_bytes.hpp>
#include <libra/program/ops.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

namespace {

TEST_CASE("bytes are those of the tensors that a pass moves, in bf16") {
  libra::attention_shape const shape{.q_heads = 8, .kv_heads = 2, .head_dim = 96};
  auto const sum = [&](std::initializer_list<libra::tensor> tensors) {
    std::int64_t bytes = 0;
    for (libra::tensor const x : tensors) {
      bytes += libra::head_row_bytes(x, shape, libra::element_bytes{});
    }
    return bytes;
  };
  using enum libra::tensor;
  auto const forward = libra::detail::bytes_of(libra::pass::forward, shape.head_dim);
  CHECK(forward.row_out == sum({q}));
  CHECK(forward.row_back == sum({o, lse}));
  CHECK(forward.key_out == sum({k, v}));
  CHECK(forward.key_back == 0);
  auto const backward = libra::detail::bytes_of(libra::pass::backward, shape.head_dim);
  CHECK(backward.row_out == sum({q, d_o, lse, delta}));
  CHECK(backward.row_back == sum({dq}));
  CHECK(backward.key_out == sum({k, v}));
  CHECK(backward.key_back == sum({dk_part, dv_part}));
}

}  // namespace
