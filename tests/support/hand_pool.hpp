#pragma once

#include <libra/model/pool_batch.hpp>
#include <libra/program/lowering.hpp>

#include <cstdint>
#include <vector>

namespace libra::test {

/// A pool small enough to know by heart, with something of everything: two slots of two ranks over 256 tokens, four
/// query heads of two key/value heads.
///
/// | segment | tokens | lies on          |
/// |---------|--------|------------------|
/// | 0       | 256    | ranks 0 and 1    |
/// | 1       | 100    | rank 2           |
/// | 2       | 60     | 28 on 2, 32 on 3 |
///
/// Rows [32, 128) of rank 3 are padding.
inline pool_batch hand_pool() {
  return {.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = attention_mask::causal()},
          .home = {256, 2},
          .slots = 2,
          .first_rank = 0,
          .segments = {{{document_id(0), 0, 256}, sequence_id(0), slot_id(0), 0},
                       {{document_id(1), 0, 100}, sequence_id(1), slot_id(1), 0},
                       {{document_id(2), 0, 60}, sequence_id(1), slot_id(1), 100}}};
}

/// Rank 0 and 2 work where things are, rank 1 lacks half of the keys, rank 3 lacks everything, and rank 0 also computes
/// half of segment 2, which lies on two other ranks.
inline std::vector<tile> hand_tiles() {
  return {{segment_id(0), rank_id(0), 0, 2, 0, 128},   {segment_id(0), rank_id(0), 2, 4, 0, 128},
          {segment_id(2), rank_id(0), 2, 4, 0, 60},    {segment_id(0), rank_id(1), 0, 2, 128, 192},
          {segment_id(0), rank_id(1), 2, 4, 128, 192}, {segment_id(1), rank_id(2), 0, 2, 0, 100},
          {segment_id(1), rank_id(2), 2, 4, 0, 100},   {segment_id(2), rank_id(2), 0, 2, 0, 60},
          {segment_id(0), rank_id(3), 0, 2, 192, 256}, {segment_id(0), rank_id(3), 2, 4, 192, 256}};
}

inline pool_program hand_program(pass p, std::int32_t waves = 1) {
  return lower(hand_pool(), hand_tiles(), p, {.width = {}, .waves = waves});
}

}  // namespace libra::test
