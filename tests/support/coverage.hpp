#pragma once

#include <libra/core/error.hpp>
#include <libra/model/pool_batch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace libra::test {

/// What is wrong with a dispatch's tiles, or nothing: counts each (row, head) in an array.
inline std::string coverage_error(pool_batch const& batch, std::span<tile const> tiles) {
  std::vector<std::size_t> first{0};
  for (placed_segment const& s : batch.segments) {
    first.push_back(first.back() + static_cast<std::size_t>(s.what.length * batch.shape.q_heads));
  }
  std::vector<std::uint8_t> count(first.back());
  std::int32_t const group = batch.shape.q_heads / batch.shape.kv_heads;
  for (tile const& t : tiles) {
    std::string const name = message("tile of segment ", t.segment.value, " heads [", t.head_begin, ", ", t.head_end,
                                     ") rows [", t.q_begin, ", ", t.q_end, ") on rank ", t.rank.value, ": ");
    if (t.segment.value < 0 || t.segment.index() >= batch.segments.size()) {
      return name + "no such segment";
    }
    if (t.rank.value < 0 || t.rank.value >= batch.slots * batch.home.cp) {
      return name + "outside the pool";
    }
    if (t.head_begin < 0 || t.head_begin >= t.head_end || t.head_end > batch.shape.q_heads ||
        t.head_begin / group != (t.head_end - 1) / group) {
      return name + "not of one key/value head";
    }
    if (t.q_begin < 0 || t.q_begin >= t.q_end || t.q_end > batch.segments[t.segment.index()].what.length) {
      return name + "outside its segment";
    }
    for (std::int64_t row = t.q_begin; row < t.q_end; ++row) {
      for (std::int32_t h = t.head_begin; h < t.head_end; ++h) {
        std::uint8_t& c = count[first[t.segment.index()] + static_cast<std::size_t>(row * batch.shape.q_heads + h)];
        if (++c > 1) {
          return name + message("row ", row, " head ", h, " twice");
        }
      }
    }
  }
  auto const missing = std::ranges::find(count, std::uint8_t{0});
  return missing == count.end() ? "" : message("element ", missing - count.begin(), " is never computed");
}

}  // namespace libra::test
