#pragma once

#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace libra {

namespace detail {

/// Calls `visit(shard_row, dense_row, elements)` for each token of a region: the first element of its heads in the
/// shard that `shard_of(rank)` returns and in a dense `[tokens, heads, head_dim]` tensor.
template <class ShardOf, class T, class Visit>
void for_each_home_row(pool_batch const& batch, region const& what, ShardOf shard_of, std::span<T> dense, Visit visit) {
  std::int64_t const channels = is_statistic(what.what) ? 1 : batch.shape.head_dim;
  std::int64_t const shard_row = heads_of(what.what, batch.shape) * channels;
  std::int64_t const dense_row = what.heads() * channels;
  batch.for_each_home(what.segment, what.tokens, [&](rank_id rank, row_range tokens, std::int64_t local) {
    auto const shard = shard_of(rank);
    for (std::int64_t t = 0; t < tokens.size(); ++t) {
      visit(shard.data() + (local + t) * shard_row + what.head_begin * channels,
            dense.data() + (tokens.begin - what.tokens.begin + t) * dense_row, dense_row);
    }
  });
}

}  // namespace detail

/// Copies a region from the home shards of a pool's ranks into a dense `[tokens, heads, head_dim]` tensor.
///
/// `shard_of(rank_id)` returns a span of that rank's `[local_tokens, heads, head_dim]`.
template <class T, std::invocable<rank_id> ShardOf>
void gather_region(pool_batch const& batch, region const& what, ShardOf shard_of, std::span<T> dense) {
  detail::for_each_home_row(batch, what, shard_of, dense,
                            [](auto const* shard, T* row, std::int64_t n) { std::copy_n(shard, n, row); });
}

/// Copies a dense `[tokens, heads, head_dim]` tensor to where a pool's ranks hold that region.
template <class T, std::invocable<rank_id> ShardOf>
void scatter_region(pool_batch const& batch, region const& what, std::span<T const> dense, ShardOf shard_of) {
  detail::for_each_home_row(batch, what, shard_of, dense,
                            [](auto* shard, T const* row, std::int64_t n) { std::copy_n(row, n, shard); });
}

}  // namespace libra
