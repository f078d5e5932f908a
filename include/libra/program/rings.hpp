#pragma once

#include <libra/core/ids.hpp>
#include <libra/model/pool_batch.hpp>
#include <libra/program/check_tile.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/ops.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace libra::detail {

/// The ranks that compute one block of heads of a segment, in rank order; each owns some of its rows. In step j of a
/// ring of R, member m works on the keys of member (m - j) mod R.
struct ring {
  struct member {
    rank_id rank;
    std::vector<row_range> rows;
    std::vector<location> home;  ///< of each run's first row, on the rank that holds it
    bool rows_home{};            ///< the rank holds them, so it holds their keys too
    std::size_t seat{};          ///< the ring's place among those of the rank; `ring_build` fills it

    [[nodiscard]] std::int64_t size() const noexcept {
      std::int64_t sum = 0;
      for (row_range const& r : rows) {
        sum += r.size();
      }
      return sum;
    }
    /// Rows of the member before its i-th run.
    [[nodiscard]] std::int64_t before(std::size_t i) const noexcept {
      std::int64_t sum = 0;
      for (std::size_t r = 0; r < i; ++r) {
        sum += rows[r].size();
      }
      return sum;
    }
  };

  segment_id segment;
  std::int32_t head_begin{};
  std::int32_t head_end{};
  std::int32_t kv_head{};
  std::vector<member> members;

  [[nodiscard]] std::int32_t heads() const noexcept { return head_end - head_begin; }
  /// The member whose keys `m` works on in step `j`. Pre: the ring has that step, or is of one and `j` is 1.
  [[nodiscard]] std::size_t origin(std::size_t m, std::size_t j) const noexcept {
    return m >= j ? m - j : (m + members.size() - j) % members.size();
  }
  [[nodiscard]] std::size_t next(std::size_t m) const noexcept { return m + 1 < members.size() ? m + 1 : 0; }
};

/// Forms one ring per segment and block of heads from the tiles that share them.
///
/// Errors: `input_error` for a tile outside the pool. Complexity: O(n log n) in the tiles.
[[nodiscard]] inline std::vector<ring> form_rings(pool_batch const& batch, std::span<tile const> tiles) {
  std::vector<tile> sorted(tiles.begin(), tiles.end());
  std::ranges::sort(sorted, {},
                    [](tile const& t) { return std::tuple(t.segment, t.head_begin, t.head_end, t.rank, t.q_begin); });
  std::vector<ring> rings;
  for (tile const& t : sorted) {
    check_tile(batch, t);
    if (rings.empty() || rings.back().segment != t.segment || rings.back().head_begin != t.head_begin ||
        rings.back().head_end != t.head_end) {
      rings.push_back({t.segment, t.head_begin, t.head_end, t.head_begin / batch.shape.group(), {}});
    }
    auto& members = rings.back().members;
    if (members.empty() || members.back().rank != t.rank) {
      members.push_back({t.rank, {}, {}, true, 0});
    }
    row_range const rows{t.q_begin, t.q_end};
    members.back().rows.push_back(rows);
    members.back().home.push_back(home_location(batch, t.segment, rows.begin));
    members.back().rows_home =
        members.back().rows_home && batch.one_home(t.segment, rows) && batch.home_of(t.segment, rows.begin) == t.rank;
  }
  return rings;
}

}  // namespace libra::detail
