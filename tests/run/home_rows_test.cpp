#include <libra/run/home_rows.hpp>

#include <doctest/doctest.h>

#include <numeric>
#include <span>
#include <vector>

namespace {

using libra::tensor;

/// Two slots of 10 tokens over 3 ranks each; the second segment of slot 1 lies on all of its ranks.
libra::pool_batch batch_of_two() {
  libra::pool_batch batch;
  batch.shape = {.q_heads = 4, .kv_heads = 2, .head_dim = 16, .mask = {}};
  batch.home = {10, 3};
  batch.slots = 2;
  batch.segments = {{{libra::document_id(std::int64_t{0}), 0, 10}, libra::sequence_id(0), libra::slot_id(0), 0},
                    {{libra::document_id(std::int64_t{1}), 0, 1}, libra::sequence_id(1), libra::slot_id(1), 0},
                    {{libra::document_id(std::int64_t{2}), 0, 8}, libra::sequence_id(1), libra::slot_id(1), 1}};
  return batch;
}

std::vector<std::vector<int>> shards_of(libra::pool_batch const& batch, std::int64_t row) {
  std::vector<std::vector<int>> shards;
  for (std::int32_t r = 0; r < batch.ranks(); ++r) {
    shards.emplace_back(static_cast<std::size_t>(batch.local_tokens(libra::rank_id(r)) * row));
  }
  return shards;
}

TEST_CASE("a region scattered to its homes comes back as it was") {
  libra::pool_batch const batch = batch_of_two();
  auto shards = shards_of(batch, 4 * 16);
  auto const shard_of = [&](libra::rank_id r) { return std::span(shards[r.index()]); };
  libra::region const what{tensor::q, libra::segment_id(2), 1, 3, {0, 8}};
  std::vector<int> dense(8 * 2 * 16);
  std::iota(dense.begin(), dense.end(), 1);
  libra::scatter_region(batch, what, std::span<int const>(dense), shard_of);
  std::vector<int> back(dense.size());
  libra::gather_region(batch, what, shard_of, std::span(back));
  CHECK(back == dense);

  // Slot 1's shards begin at positions 0, 3 and 6, so its ranks hold tokens 0-1, 2-4 and 5-7 of the segment.
  CHECK(shards[3][(1 * 4 + 1) * 16] == dense[0]);
  CHECK(shards[4][(0 * 4 + 1) * 16] == dense[2 * 2 * 16]);
  CHECK(shards[5][(2 * 4 + 2) * 16 + 15] == dense[(7 * 2 + 1) * 16 + 15]);
  std::size_t untouched = 0;
  for (auto const& s : shards) {
    untouched += static_cast<std::size_t>(std::ranges::count(s, 0));
  }
  CHECK(untouched == 20 * 4 * 16 - dense.size());
}

TEST_CASE("statistics have one element per row and head") {
  libra::pool_batch const batch = batch_of_two();
  auto shards = shards_of(batch, 4);
  shards[2][3 * 4 + 2] = 9;  // Slot 0, position 6 + 3, head 2.
  std::vector<int> dense(10 * 2);
  libra::gather_region(
      batch, {tensor::lse, libra::segment_id(0), 2, 4, {0, 10}},
      [&](libra::rank_id r) { return std::span(shards[r.index()]); }, std::span(dense));
  CHECK(dense[9 * 2] == 9);
}

}  // namespace
