#pragma once

#include <libra/model/pool_batch.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/memory_plan.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/panels.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace libra::detail {

/// Where the inputs of one rank's tiles lie from the forward pass to the end of the backward pass: in the first bytes
/// of its workspace, in an order that depends on the tiles alone, so that both passes find them.
class kept_inputs {
 public:
  /// Takes the next bytes of the workspace and returns the first.
  std::int64_t take(std::int64_t bytes) {
    std::int64_t const at = bytes_;
    bytes_ += (bytes + memory_plan::alignment - 1) / memory_plan::alignment * memory_plan::alignment;
    return at;
  }
  /// Says that a region lies at byte `at`; `row_bytes` of one row of all its heads. Pre: the bytes were taken.
  void put(region const& what, std::int64_t at, std::int64_t row_bytes) {
    regions_.push_back({what, location::workspace(at)});
    row_bytes_.push_back(row_bytes);
  }
  /// Does both for one region.
  void add(region const& what, std::int64_t row_bytes) { put(what, take(what.tokens.size() * row_bytes), row_bytes); }

  /// Puts the regions into the order in which `offset` looks for them. Complexity: O(n log n).
  void finish() {
    order_.resize(regions_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      order_[i] = i;
    }
    std::ranges::sort(order_, {}, [&](std::size_t i) { return key_of(regions_[i].what); });
  }

  /// The byte where row `token` of the region of a tensor that begins with head `head` lies. Pre: `finish`ed, and the
  /// region was added. Complexity: O(log n).
  [[nodiscard]] std::int64_t offset(tensor what, segment_id s, std::int32_t head, std::int64_t token) const {
    std::tuple const wanted(what, s, head, token);
    auto const after =
        std::ranges::upper_bound(order_, wanted, {}, [&](std::size_t i) { return key_of(regions_[i].what); });
    std::size_t const i = *(after - 1);
    return regions_[i].at.byte() + (token - regions_[i].what.tokens.begin) * row_bytes_[i];
  }

  [[nodiscard]] std::vector<region_task> const& regions() const noexcept { return regions_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }

 private:
  [[nodiscard]] static std::tuple<tensor, segment_id, std::int32_t, std::int64_t> key_of(region const& r) {
    return {r.what, r.segment, r.head_begin, r.tokens.begin};
  }

  std::vector<region_task> regions_;
  /// Shape: `[regions]` each.
  std::vector<std::int64_t> row_bytes_;
  std::vector<std::size_t> order_;
  std::int64_t bytes_{};
};

/// What each rank keeps of its tiles' inputs when every tile gathers its keys: the rows of tiles whose rows lie
/// elsewhere, and the panels of those whose keys do.
///
/// Shape: the result is `[ranks]`. Pre: `check_tile` for each tile. Complexity: O(n log n) in the tiles.
[[nodiscard]] inline std::vector<kept_inputs> list_kept_inputs(pool_batch const& batch, std::span<tile const> tiles,
                                                               element_bytes const& width) {
  std::vector<std::vector<tile_ref>> refs(static_cast<std::size_t>(batch.ranks()));
  for (tile const& t : tiles) {
    refs[t.rank.index()].push_back(refer(batch, t));
  }
  std::vector<kept_inputs> kept(refs.size());
  for (std::size_t r = 0; r < refs.size(); ++r) {
    for (tile_ref const& t : refs[r]) {
      if (!t.rows_home) {
        region const rows{
            tensor::q, t.what.segment, t.what.head_begin, t.what.head_end, {t.what.q_begin, t.what.q_end}};
        kept[r].add(rows, rows.heads() * head_row_bytes(tensor::q, batch.shape, width));
      }
    }
    auto const panels =
        join_panels(refs[r], [](tile_ref const& t) { return !t.keys_home; }, [](tile_ref&, std::size_t) {});
    for (panel const& p : panels) {
      for (tensor const x : key_inputs) {
        kept[r].add({x, p.segment, p.kv_head, p.kv_head + 1, p.keys}, head_row_bytes(x, batch.shape, width));
      }
    }
    kept[r].finish();
  }
  return kept;
}

}  // namespace libra::detail
