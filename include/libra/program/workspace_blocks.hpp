#pragma once

#include <libra/program/order.hpp>
#include <libra/program/pool_build.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra::detail {

/// Blocks for what one rank's tiles read, write and sum up.
inline void add_tile_blocks(pool_build const& pool, rank_build& rank) {
  auto const wave_of = [](std::vector<std::size_t> const& by_wave, std::int32_t w) {
    return by_wave[static_cast<std::size_t>(w)];
  };
  skeleton const& steps = rank.steps;
  rank.work.inputs = join_panels(
      rank.work.tiles, [](tile_ref const& t) { return !t.keys_home; }, [](tile_ref& t, std::size_t p) { t.panel = p; });
  for (panel& p : rank.work.inputs) {
    for (std::size_t i = 0; i < 2; ++i) {
      p.blocks[i] = rank.memory.add(p.keys.size() * pool.row_bytes(key_inputs[i]), wave_of(steps.fetch, p.first_wave),
                                    wave_of(steps.attend, p.last_wave));
    }
  }
  for (std::size_t i = 0; i < rank.work.tiles.size(); ++i) {
    tile_ref const& t = rank.work.tiles[i];
    if (t.rows_home) {
      continue;
    }
    std::int64_t const rows = (t.what.q_end - t.what.q_begin) * (t.what.head_end - t.what.head_begin);
    for (tensor const x : row_inputs(pool.direction)) {
      rank.blocks[i][static_cast<std::size_t>(x)] =
          rank.memory.add(rows * pool.row_bytes(x), wave_of(steps.fetch, t.wave), wave_of(steps.attend, t.wave));
    }
    for (tensor const x : row_outputs(pool.direction)) {
      rank.blocks[i][static_cast<std::size_t>(x)] =
          rank.memory.add(rows * pool.row_bytes(x), wave_of(steps.attend, t.wave), wave_of(steps.deliver, t.wave));
    }
  }
  for (panel& p : rank.work.gradients) {
    std::size_t const last = steps.reduce != none ? steps.reduce : steps.deliver.back();
    for (std::size_t& block : p.blocks) {
      block = rank.memory.add(p.keys.size() * pool.row_bytes(tensor::dk), steps.clear, last);
    }
  }
}

/// Blocks for the partial sums that home ranks receive.
inline void add_received_partials(pool_build& pool) {
  for (std::size_t h = 0; h < pool.gradients.size(); ++h) {
    rank_build& home = pool.ranks[h];
    for (gradient_piece& piece : pool.gradients[h]) {
      for (std::size_t i = 0; i < 2 && piece.from.index() != h; ++i) {
        piece.blocks[i] = home.memory.add(piece.tokens.size() * pool.row_bytes(tensor::dk), home.steps.deliver.back(),
                                          home.steps.reduce);
      }
    }
  }
}

/// Lays out every rank's workspace. Pre: the skeletons and the gradient pieces are there.
inline void plan_memory(pool_build& pool) {
  for (rank_build& rank : pool.ranks) {
    add_tile_blocks(pool, rank);
  }
  add_received_partials(pool);
  for (rank_build& rank : pool.ranks) {
    rank.memory.place(op_order(rank.steps.ops));
  }
}

}  // namespace libra::detail
