#pragma once

#include <libra/program/pool_build.hpp>
#include <libra/program/round.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra::detail {

/// Ends the round of wave `w` on every rank.
inline void close(pool_build& pool, round& moved, std::vector<std::size_t> skeleton::* which, std::int32_t w) {
  for (std::size_t r = 0; r < pool.ranks.size(); ++r) {
    skeleton& steps = pool.ranks[r].steps;
    moved.close(r, steps.ops[(steps.*which)[static_cast<std::size_t>(w)]], pool.ranks[r].out);
  }
}

/// Brings the rows of `what` from their homes into a dense block at `base` whose first row is token `block_begin`.
inline void bring(pool_build const& pool, round& moved, rank_id to, region const& what, std::int64_t base,
                  std::int64_t block_begin) {
  std::int64_t const bytes = what.heads() * pool.row_bytes(what.what);
  pool.batch.for_each_home(what.segment, what.tokens, [&](rank_id home, row_range tokens, std::int64_t local) {
    region piece = what;
    piece.tokens = tokens;
    moved.move(piece, home, location::home(local), to,
               location::workspace(base + (tokens.begin - block_begin) * bytes));
  });
}

/// Brings the keys and values of `wanted` that earlier tiles have not brought into the panel yet.
inline void fetch_keys(pool_build const& pool, round& moved, rank_id to, panel& p, row_range wanted) {
  auto const fetch = [&](row_range keys) {
    for (std::size_t i = 0; i < 2 && keys.size() > 0; ++i) {
      bring(pool, moved, to, {key_inputs[i], p.segment, p.kv_head, p.kv_head + 1, keys},
            pool.ranks[to.index()].memory.offset(p.blocks[i]), p.keys.begin);
    }
  };
  if (p.present.size() == 0) {
    fetch(wanted);
    p.present = wanted;
    return;
  }
  fetch({wanted.begin, std::max(wanted.begin, p.present.begin)});
  fetch({std::min(wanted.end, p.present.end), wanted.end});
  p.present = {std::min(p.present.begin, wanted.begin), std::max(p.present.end, wanted.end)};
}

/// The round that brings the inputs of wave `w`.
inline void emit_fetch(pool_build& pool, std::int32_t w) {
  round moved(pool.ranks.size());
  for (std::size_t r = 0; r < pool.ranks.size(); ++r) {
    rank_build& rank = pool.ranks[r];
    for (std::size_t i = 0; i < rank.work.tiles.size(); ++i) {
      tile_ref const& t = rank.work.tiles[i];
      if (t.wave != w) {
        continue;
      }
      if (!t.rows_home) {
        for (tensor const x : row_inputs(pool.direction)) {
          bring(pool, moved, rank_id(r),
                {x, t.what.segment, t.what.head_begin, t.what.head_end, {t.what.q_begin, t.what.q_end}},
                pool_build::block_of(rank, i, x), t.what.q_begin);
        }
      }
      if (t.panel != none) {
        fetch_keys(pool, moved, rank_id(r), rank.work.inputs[t.panel], t.keys);
      }
    }
  }
  close(pool, moved, &skeleton::fetch, w);
}

inline void return_partials(pool_build const& pool, round& moved) {
  for (std::size_t h = 0; h < pool.gradients.size(); ++h) {
    for (gradient_piece const& piece : pool.gradients[h]) {
      if (piece.from.index() == h) {
        continue;
      }
      rank_build const& from = pool.ranks[piece.from.index()];
      panel const& p = from.work.gradients[piece.panel];
      for (std::size_t i = 0; i < 2; ++i) {
        moved.move({partial_sums[i], p.segment, p.kv_head, p.kv_head + 1, piece.tokens}, piece.from,
                   location::workspace(from.memory.offset(p.blocks[i]) +
                                       (piece.tokens.begin - p.keys.begin) * pool.row_bytes(tensor::dk)),
                   rank_id(h), location::workspace(pool.ranks[h].memory.offset(piece.blocks[i])));
      }
    }
  }
}

/// The round that takes the results of wave `w` home; the last one also takes the partial sums.
inline void emit_deliver(pool_build& pool, std::int32_t w) {
  round moved(pool.ranks.size());
  for (std::size_t r = 0; r < pool.ranks.size(); ++r) {
    rank_build& rank = pool.ranks[r];
    for (std::size_t i = 0; i < rank.work.tiles.size(); ++i) {
      tile_ref const& t = rank.work.tiles[i];
      for (tensor const x : row_outputs(pool.direction)) {
        if (t.wave == w && !t.rows_home) {
          std::int64_t const bytes = (t.what.head_end - t.what.head_begin) * pool.row_bytes(x);
          std::int64_t const base = pool_build::block_of(rank, i, x);
          pool.batch.for_each_home(
              t.what.segment, {t.what.q_begin, t.what.q_end}, [&](rank_id home, row_range tokens, std::int64_t local) {
                moved.move({x, t.what.segment, t.what.head_begin, t.what.head_end, tokens}, rank_id(r),
                           location::workspace(base + (tokens.begin - t.what.q_begin) * bytes), home,
                           location::home(local));
              });
        }
      }
    }
  }
  if (w == pool.waves) {
    return_partials(pool, moved);
  }
  close(pool, moved, &skeleton::deliver, w);
}

}  // namespace libra::detail
