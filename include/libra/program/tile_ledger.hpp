#pragma once

#include <libra/core/random.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/tracked_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace libra::detail {

/// Every tile that was computed, to be checked against what the batch asks for.
class tile_ledger {
  /// Rows that a tile computed, which of their keys it worked on, and whose it was.
  struct computed {
    row_range rows;
    row_range keys;
    key_part part{};
    std::int32_t rank{};
    std::int32_t op{};
  };

 public:
  /// Enters a tile and returns a random id for the sums it adds to.
  std::uint64_t record(tile_task const& t, std::int32_t kv_head, std::int32_t rank, std::int32_t op) {
    std::uint64_t const id = mix64(++tiles_);
    for (std::int32_t h = t.head_begin; h < t.head_end; ++h) {
      rows_[{t.segment, h}].push_back({t.rows, t.keys, t.part, rank, op});
      if (t.part != key_part::all) {
        parts_[{t.segment, h}].emplace_back(t.rows, id);
      }
    }
    keys_[{t.segment, kv_head}].emplace_back(t.keys, id);
    return id;
  }

  /// Fails unless every (row, head) was computed once; `rank` and `op` then name who did it again, or nobody.
  void check_rows(pool_batch const& batch, std::int32_t& rank, std::int32_t& op) {
    for (std::size_t s = 0; s < batch.segments.size(); ++s) {
      for (std::int32_t h = 0; h < batch.shape.q_heads; ++h) {
        auto& runs = rows_[{segment_id(s), h}];
        if (std::ranges::any_of(runs, [](computed const& c) { return c.part != key_part::all; })) {
          check_parts(batch, segment_id(s), h, runs, rank, op);
          continue;
        }
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

  /// Fails unless the parts of every row's keys are disjoint and hold all that it sees.
  static void check_parts(pool_batch const& batch, segment_id s, std::int32_t h, std::span<computed const> parts,
                          std::int32_t& rank, std::int32_t& op) {
    // Between two cuts all rows have the same parts.
    std::vector<std::int64_t> cuts{0, batch.length(s)};
    for (computed const& c : parts) {
      cuts.push_back(c.rows.begin);
      cuts.push_back(c.rows.end);
    }
    std::ranges::sort(cuts);
    cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
    std::vector<computed> here;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      here.clear();
      std::ranges::copy_if(parts, std::back_inserter(here),
                           [&](computed const& c) { return c.rows.begin <= cuts[i] && cuts[i] < c.rows.end; });
      std::ranges::sort(here, {}, [](computed const& c) { return c.keys.begin; });
      row_range const seen = batch.shape.mask.span(cuts[i], cuts[i + 1], batch.length(s));
      std::int64_t next = here.empty() ? 0 : std::min(here.front().keys.begin, seen.begin);
      for (computed const& c : here) {
        rank = c.rank;
        op = c.op;
        expect(c.keys.begin >= next, "works on key ", c.keys.begin, " of row ", cuts[i], " of segment ", s.value,
               " head ", h, " a second time");
        op = -1;
        expect(c.keys.begin == next || next >= seen.end, "key ", next, " of row ", cuts[i], " of segment ", s.value,
               " head ", h, " is never seen");
        next = c.keys.end;
      }
      op = -1;
      expect(!here.empty() && here.front().keys.begin <= seen.begin && next >= seen.end, "rows [", cuts[i], ", ",
             cuts[i + 1], ") of segment ", s.value, " head ", h, " do not see all their keys");
      expect(std::ranges::count(here, key_part::first, &computed::part) == 1, "rows [", cuts[i], ", ", cuts[i + 1],
             ") of segment ", s.value, " head ", h, " have no single first part");
    }
  }

  /// Fails unless a sum holds every tile that worked on its keys, once.
  void check_sum(segment_id s, std::int32_t kv, tensor x, signed_rows const& part) {
    std::span<std::pair<row_range, std::uint64_t> const> const all = keys_[{s, kv}];
    check_signature(all, part, [&](std::int64_t key) {
      return message(name_of(x), " of key ", key, " of segment ", s.value, " kv head ", kv,
                     " misses a tile or counts one twice");
    });
  }

  /// Fails unless a result holds every part of its rows, once. Rows that were computed whole have no parts.
  void check_result(segment_id s, std::int32_t h, tensor x, signed_rows const& rows) {
    std::span<std::pair<row_range, std::uint64_t> const> const parts = parts_[{s, h}];
    check_signature(parts, rows, [&](std::int64_t row) {
      return message(name_of(x), " of row ", row, " of segment ", s.value, " head ", h,
                     " misses a part or counts one twice");
    });
  }

 private:
  /// Fails unless the signature is the sum of the ids of all entries that cover a token, for each of its tokens.
  template <class Describe>
  static void check_signature(std::span<std::pair<row_range, std::uint64_t> const> entries, signed_rows const& part,
                              Describe describe) {
    std::vector<std::int64_t> points{part.tokens.begin};
    for (auto const& [tokens, id] : entries) {
      for (std::int64_t const edge : {tokens.begin, tokens.end}) {
        if (part.tokens.begin < edge && edge < part.tokens.end) {
          points.push_back(edge);
        }
      }
    }
    for (std::int64_t const token : points) {
      std::uint64_t expected = 0;
      for (auto const& [tokens, id] : entries) {
        expected += tokens.begin <= token && token < tokens.end ? id : 0;
      }
      if (part.signature != expected) {
        throw broken{describe(token)};
      }
    }
  }

  std::map<std::pair<segment_id, std::int32_t>, std::vector<computed>> rows_;
  std::map<std::pair<segment_id, std::int32_t>, std::vector<std::pair<row_range, std::uint64_t>>> keys_;
  std::map<std::pair<segment_id, std::int32_t>, std::vector<std::pair<row_range, std::uint64_t>>> parts_;
  std::uint64_t tiles_{};
};

}  // namespace libra::detail
