#pragma once

#include <libra/model/pool_batch.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/tracked_memory.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace libra::detail {

[[nodiscard]] inline std::vector<signed_rows> whole_rows(region const& what) { return {{what.tokens, 0}}; }

/// The home tensors and workspaces of a pool's ranks, as regions: every access is checked for place, presence and
/// order.
class region_store {
 public:
  region_store(pool_batch const& batch, pool_program const& programs)
      : batch_(batch),
        programs_(programs),
        ranks_(programs.ranks.size()) {}

  /// Puts a region into a workspace before anything runs.
  void begin_with(rank_id rank, region_task const& kept) {
    rank_ = rank;
    check_kept(kept);
    tracked_memory::access const before{tracked_memory::written_before, nullptr, 0};
    at_place(kept.what, kept.at,
             [&](tracked_memory& memory, std::int64_t address, std::int64_t stride, region const& part) {
               memory.write(before, address, stride, part, whole_rows(part));
             });
  }
  /// Fails unless a region lies whole in a workspace after everything has finished.
  void end_with(rank_id rank, region_task const& kept) {
    rank_ = rank;
    check_kept(kept);
    at_place(kept.what, kept.at,
             [&](tracked_memory& memory, std::int64_t address, std::int64_t stride, region const& part) {
               static_cast<void>(memory.result(address, stride, part));
             });
  }

  /// Whose op makes the following accesses.
  void enter(rank_id rank, tracked_memory::access by) {
    rank_ = rank;
    here_ = by;
  }

  /// The length of a segment. Fails when the pool has none of this number.
  [[nodiscard]] std::int64_t check_segment(segment_id s) const {
    expect(s.value >= 0 && s.index() < batch_.segments.size(), "names segment ", s.value, " of ",
           batch_.segments.size());
    return batch_.length(s);
  }

  /// Reads a region that must be there, whole.
  std::vector<signed_rows> read(region const& what, location at) {
    if (at.at_home() && is_input(what.what)) {
      check_place(what, at);
      return whole_rows(what);
    }
    std::vector<signed_rows> rows;
    at_place(what, at, [&](tracked_memory& memory, std::int64_t address, std::int64_t stride, region const& part) {
      rows = memory.read(here_, address, stride, part);
    });
    return rows;
  }

  /// Writes a region; at home, rows are written once.
  void write(region const& what, location at, std::span<signed_rows const> rows) {
    expect(!at.at_home() || !is_input(what.what), "writes the input ", what);
    at_place(what, at, [&](tracked_memory& memory, std::int64_t address, std::int64_t stride, region const& part) {
      expect(!at.at_home() || !memory.holds_any(address, address + part.tokens.size()), "writes ", what,
             ", part of which is already written");
      memory.write(here_, address, stride, part, rows);
    });
  }

  /// Adds backward tile `id` to a sum that must be there.
  void accumulate(region const& what, location at, std::uint64_t id) {
    at_place(what, at, [&](tracked_memory& memory, std::int64_t address, std::int64_t stride, region const& part) {
      memory.accumulate(here_, address, stride, part, id);
    });
  }

  /// Writes padding rows of a result, which belong to no segment.
  void clear_padding(region_task const& t) {
    region const& what = t.what;
    expect(is_result(what.what) && 0 <= what.head_begin && what.head_begin < what.head_end &&
               what.head_end <= heads_of(what.what, batch_.shape),
           "clears padding of ", name_of(what.what), " heads [", what.head_begin, ", ", what.head_end,
           "), which is no result");
    expect(t.at.at_home() && t.at.local_token() == what.tokens.begin && 0 <= what.tokens.begin &&
               what.tokens.begin < what.tokens.end && what.tokens.end <= batch_.local_tokens(rank_),
           "clears padding rows [", what.tokens.begin, ", ", what.tokens.end, ") outside the shard");
    for (std::int32_t h = what.head_begin; h < what.head_end; ++h) {
      tracked_memory& memory = ranks_[rank_.index()].home[{what.what, h}];
      expect(!memory.holds_any(what.tokens.begin, what.tokens.end), "clears rows [", what.tokens.begin, ", ",
             what.tokens.end, ") of ", name_of(what.what), ", part of which is already written");
      memory.write(here_, t.at.local_token(), 1, what, whole_rows(what));
    }
  }

  /// Fails unless rows of padding were cleared in every result. Pre: everything has finished.
  void check_padding(rank_id home, row_range rows) {
    for (tensor const x : {tensor::o, tensor::lse, tensor::dq, tensor::dk, tensor::dv}) {
      for (std::int32_t h = 0; is_result(x) && h < heads_of(x, batch_.shape); ++h) {
        expect(ranks_[home.index()].home[{x, h}].holds_all(rows.begin, rows.end), "padding of ", name_of(x), " head ",
               h, " in rows [", rows.begin, ", ", rows.end, ") is never cleared");
      }
    }
  }

  /// One head's rows of a result at home, after everything has finished.
  [[nodiscard]] std::vector<signed_rows> result(rank_id home, std::int64_t local, region const& what) {
    return ranks_[home.index()].home[{what.what, what.head_begin}].result(local, 1, what);
  }

 private:
  struct rank_memory {
    tracked_memory workspace;
    std::map<std::pair<tensor, std::int32_t>, tracked_memory> home;  ///< by (tensor, head)
  };

  void check_kept(region_task const& kept) const {
    tensor const x = kept.what.what;
    std::int64_t const bytes = programs_.ranks[rank_.index()].kept_bytes;
    expect(x == tensor::q || x == tensor::k || x == tensor::v || x == tensor::o_part, "keeps ", kept.what,
           ", which is neither an input nor an unrounded output");
    expect(kept.at.in_workspace(), "keeps ", kept.what, " outside the workspace");
    check_region(kept.what);
    expect(kept.at.byte() + kept.what.tokens.size() * stride_of(kept.what) <= bytes, "keeps ", kept.what, " at byte ",
           kept.at.byte(), ", which ends beyond the ", bytes, " bytes of what is kept");
  }

  [[nodiscard]] bool is_input(tensor t) const noexcept {
    bool const always = t == tensor::q || t == tensor::k || t == tensor::v;
    return always ||
           ((programs_.direction == pass::backward) && (t == tensor::o || t == tensor::lse || t == tensor::d_o));
  }

  [[nodiscard]] bool is_result(tensor t) const noexcept {
    return programs_.direction == pass::backward ? t == tensor::dq || t == tensor::dk || t == tensor::dv
                                                 : t == tensor::o || t == tensor::lse;
  }

  /// Bytes per token of a region in a workspace.
  [[nodiscard]] std::int64_t stride_of(region const& what) const {
    return what.heads() * head_row_bytes(what.what, batch_.shape, programs_.width);
  }

  void check_region(region const& what) const {
    std::int64_t const length = check_segment(what.segment);
    expect(0 <= what.tokens.begin && what.tokens.begin < what.tokens.end && what.tokens.end <= length &&
               0 <= what.head_begin && what.head_begin < what.head_end &&
               what.head_end <= heads_of(what.what, batch_.shape),
           what, " is outside its tensor");
  }

  /// Checks that a region lies where `at` says, and nowhere else.
  void check_place(region const& what, location at) const {
    check_region(what);
    expect(!at.at_home() || !is_part(what.what), what, " is at home");
    if (at.at_home()) {
      std::int64_t local = -1;
      batch_.for_each_home(what.segment, {what.tokens.begin, what.tokens.begin + 1},
                           [&](rank_id, row_range, std::int64_t row) { local = row; });
      expect(batch_.one_home(what.segment, what.tokens) && batch_.home_of(what.segment, what.tokens.begin) == rank_ &&
                 local == at.local_token(),
             what, " is not at home row ", at.local_token());
      return;
    }
    std::int64_t const bytes = programs_.ranks[rank_.index()].workspace_bytes;
    expect(at.in_workspace(), what, " is nowhere");
    expect(at.byte() + what.tokens.size() * stride_of(what) <= bytes, what, " at byte ", at.byte(),
           " ends beyond the workspace of ", bytes);
  }

  /// Calls `use(memory, address, stride, region)` for the memories that hold a region: the workspace, or each home
  /// head.
  template <class Use>
  void at_place(region const& what, location at, Use use) {
    check_place(what, at);
    rank_memory& rank = ranks_[rank_.index()];
    if (at.in_workspace()) {
      use(rank.workspace, at.byte(), stride_of(what), what);
      return;
    }
    for (std::int32_t h = what.head_begin; h < what.head_end; ++h) {
      region one = what;
      one.head_begin = h;
      one.head_end = h + 1;
      use(rank.home[{what.what, h}], at.local_token(), std::int64_t{1}, one);
    }
  }

  pool_batch const& batch_;
  pool_program const& programs_;
  std::vector<rank_memory> ranks_;
  rank_id rank_;
  tracked_memory::access here_;
};

}  // namespace libra::detail
