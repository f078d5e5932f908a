#pragma once

#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra::detail {

inline constexpr std::array key_inputs{tensor::k, tensor::v};
inline constexpr std::array key_gradients{tensor::dk, tensor::dv};
inline constexpr std::array partial_sums{tensor::dk_part, tensor::dv_part};

/// The tensors with rows of queries that a tile reads.
[[nodiscard]] inline std::span<tensor const> row_inputs(pass p) noexcept {
  static constexpr std::array forward{tensor::q};
  // `fetched_rows` relies on q being first.
  static constexpr std::array backward{tensor::q, tensor::d_o, tensor::lse, tensor::delta};
  return p == pass::backward ? std::span<tensor const>(backward) : std::span<tensor const>(forward);
}
/// Those of them that a pass brings to a tile whose rows lie elsewhere, where the forward pass's may be `kept`.
[[nodiscard]] inline std::span<tensor const> fetched_rows(pass p, bool kept) noexcept {
  std::span<tensor const> const all = row_inputs(p);
  return kept && p == pass::backward ? all.subspan(1) : all;
}
/// The tensors with rows of queries that a tile writes.
[[nodiscard]] inline std::span<tensor const> row_outputs(pass p) noexcept {
  static constexpr std::array forward{tensor::o, tensor::lse};
  static constexpr std::array backward{tensor::dq};
  return p == pass::backward ? std::span<tensor const>(backward) : std::span<tensor const>(forward);
}

/// What every rank does with its home rows whoever computes their tiles.
struct home_tasks {
  /// Shape: `[ranks]`. The rows whose delta is computed; none in the forward pass.
  std::vector<std::vector<dot_task>> dots;
  /// Shape: `[ranks]`. The local rows that hold no token.
  std::vector<row_range> padding;
};

[[nodiscard]] inline home_tasks list_home_tasks(pool_batch const& batch, pass direction) {
  auto const ranks = static_cast<std::size_t>(batch.ranks());
  home_tasks tasks{.dots = std::vector<std::vector<dot_task>>(ranks), .padding = std::vector<row_range>(ranks)};
  for (std::size_t s = 0; s < batch.segments.size(); ++s) {
    segment_id const id(s);
    batch.for_each_home(id, {0, batch.length(id)}, [&](rank_id h, row_range tokens, std::int64_t local) {
      std::int64_t& used = tasks.padding[h.index()].begin;
      used = std::max(used, local + tokens.size());
      if (direction == pass::backward) {
        location const at = location::home(local);
        tasks.dots[h.index()].push_back({{tensor::delta, id, 0, batch.shape.q_heads, tokens}, at, at, at});
      }
    });
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    tasks.padding[r].end = batch.local_tokens(rank_id(r));
  }
  return tasks;
}

/// Appends the clears of a rank's padding rows.
inline void clear_padding(attention_shape const& shape, pass direction, row_range padding,
                          std::vector<region_task>& clears) {
  auto const clear_rows = [&](tensor t) {
    if (padding.size() > 0) {
      clears.push_back({{t, no_segment, 0, heads_of(t, shape), padding}, location::home(padding.begin)});
    }
  };
  std::ranges::for_each(row_outputs(direction), clear_rows);
  if (direction == pass::backward) {
    std::ranges::for_each(key_gradients, clear_rows);
  }
}

/// The local row of a token on its home rank.
[[nodiscard]] inline location home_location(pool_batch const& batch, segment_id s, std::int64_t token) {
  location at;
  batch.for_each_home(s, {token, token + 1},
                      [&](rank_id, row_range, std::int64_t local) { at = location::home(local); });
  return at;
}

}  // namespace libra::detail
