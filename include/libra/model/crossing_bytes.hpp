#pragma once

#include <libra/model/work.hpp>

#include <cstdint>

namespace libra::detail {

/// Bytes that cross the network with work in bf16: per (row, head) and per (key, key/value head), away from home and
/// back.
struct crossing_bytes {
  std::int64_t row_out{};
  std::int64_t row_back{};
  std::int64_t key_out{};
  std::int64_t key_back{};
};
[[nodiscard]] constexpr crossing_bytes bytes_of(pass p, std::int32_t head_dim) noexcept {
  std::int64_t const row = std::int64_t{2} * head_dim;
  if (p == pass::forward) {
    return {row, row + 4, 2 * row, 0};
  }
  return {2 * row + 8, row, 2 * row, 4 * row};
}

}  // namespace libra::detail
