#pragma once

#include <libra/core/random.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/tracked_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace libra::detail {

/// Every tile that was computed, to be checked against what the batch asks for.
class tile_ledger {
 public:
  /// Enters a tile and returns a random id for the sums it adds to.
  std::uint64_t record(tile_task const& t, std::int32_t kv_head, std::int32_t rank, std::int32_t op) {
    for (std::int32_t h = t.head_begin; h < t.head_end; ++h) {
      rows_[{t.segment, h}].push_back({t.rows, rank, op});
    }
    std::uint64_t const id = mix64(++tiles_);
    keys_[{t.segment, kv_head}].push_back({t.keys, id});
    return id;
  }

  /// Fails unless every (row, head) was computed once; `rank` and `op` then name who did it again, or nobody.
  void check_rows(pool_batch const& batch, std::int32_t& rank, std::int32_t& op) {
    for (std::size_t s = 0; s < batch.segments.size(); ++s) {
      for (std::int32_t h = 0; h < batch.shape.q_heads; ++h) {
        auto& runs = rows_[{segment_id(s), h}];
        std::ranges::sort(runs, {}, [](computed const& c) { return std::pair(c.rows.begin, c.rows.end); });
        std::int64_t next = 0;
        for (computed const& c : runs) {
          rank = c.rank;
          op = c.op;
          expect(c.rows.begin >= next, "computes row ", c.rows.begin, " of segment ", s, " head ", h, " a second time");
          op = c.rows.begin == next ? op : -1;
          expect(c.rows.begin == next, "row ", next, " of segment ", s, " head ", h, " is never computed");
          next = c.rows.end;
        }
        op = -1;
        expect(next == batch.length(segment_id(s)), "row ", next, " of segment ", s, " head ", h, " is never computed");
      }
    }
  }

  /// Fails unless a sum holds every tile that worked on its keys, once.
  void check_sum(segment_id s, std::int32_t kv, tensor x, signed_rows const& part) {
    std::vector<std::int64_t> points{part.tokens.begin};
    for (auto const& [keys, id] : keys_[{s, kv}]) {
      for (std::int64_t const edge : {keys.begin, keys.end}) {
        if (part.tokens.begin < edge && edge < part.tokens.end) {
          points.push_back(edge);
        }
      }
    }
    for (std::int64_t const key : points) {
      std::uint64_t expected = 0;
      for (auto const& [keys, id] : keys_[{s, kv}]) {
        expected += keys.begin <= key && key < keys.end ? id : 0;
      }
      expect(part.signature == expected, name_of(x), " of key ", key, " of segment ", s.value, " kv head ", kv,
             " misses a tile or counts one twice");
    }
  }

 private:
  struct computed {
    row_range rows;
    std::int32_t rank{};
    std::int32_t op{};
  };

  std::map<std::pair<segment_id, std::int32_t>, std::vector<computed>> rows_;
  std::map<std::pair<segment_id, std::int32_t>, std::vector<std::pair<row_range, std::uint64_t>>> keys_;
  std::uint64_t tiles_{};
};

}  // namespace libra::detail
