#pragma once

#include <libra/model/pool_batch.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/region_store.hpp>
#include <libra/program/tile_ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra::detail {

/// Fails unless every result is at home, whole, and sums hold every tile that saw their key, once; `rank` then names
/// the home.
inline void check_results(pool_batch const& batch, pass direction, region_store& store, tile_ledger& ledger,
                          std::int32_t& rank) {
  bool const backward = direction == pass::backward;
  for (std::size_t s = 0; s < batch.segments.size(); ++s) {
    segment_id const id(s);
    batch.for_each_home(id, {0, batch.length(id)}, [&](rank_id home, row_range tokens, std::int64_t local) {
      rank = home.value;
      auto const result = [&](tensor x, std::int32_t h) {
        return store.result(home, local, {x, id, h, h + 1, tokens});
      };
      for (std::int32_t h = 0; h < batch.shape.q_heads; ++h) {
        for (tensor const x : row_outputs(direction)) {
          for (signed_rows const& part : result(x, h)) {
            ledger.check_result(id, h, x, part);
          }
        }
      }
      for (std::int32_t h = 0; backward && h < batch.shape.kv_heads; ++h) {
        for (tensor const x : {tensor::dk, tensor::dv}) {
          for (signed_rows const& part : result(x, h)) {
            ledger.check_sum(id, h, x, part);
          }
        }
      }
    });
  }
}

/// Fails unless rows of results that belong to no segment are cleared; `rank` then names the home.
inline void check_padding(pool_batch const& batch, region_store& store, std::int32_t& rank) {
  std::vector<std::vector<bool>> rows;
  for (std::int32_t r = 0; r < batch.ranks(); ++r) {
    rows.emplace_back(static_cast<std::size_t>(batch.local_tokens(rank_id(r))));
  }
  for (std::size_t s = 0; s < batch.segments.size(); ++s) {
    batch.for_each_home(segment_id(s), {0, batch.length(segment_id(s))},
                        [&](rank_id home, row_range tokens, std::int64_t local) {
                          auto const first = rows[home.index()].begin() + local;
                          std::fill(first, first + tokens.size(), true);
                        });
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    rank = static_cast<std::int32_t>(r);
    auto const& used = rows[r];
    for (auto begin = std::ranges::find(used, false); begin != used.end();) {
      auto const end = std::find(begin, used.end(), true);
      store.check_padding(rank_id(r), {begin - used.begin(), end - used.begin()});
      begin = std::find(end, used.end(), false);
    }
  }
}

}  // namespace libra::detail
