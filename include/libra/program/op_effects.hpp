#pragma once

#include <libra/model/pool_batch.hpp>
#include <libra/program/home_tasks.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/region_store.hpp>
#include <libra/program/tile_ledger.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace libra::detail {

/// What ops that are no exchanges do to regions: which they read, write and add to.
///
/// Errors: `broken`, naming what is not there, not ordered or not of the op's kind.
class op_effects {
 public:
  /// Pre: all outlive it.
  op_effects(pool_batch const& batch, pass direction, region_store& store, tile_ledger& ledger)
      : batch_(batch),
        direction_(direction),
        store_(store),
        ledger_(ledger) {}

  /// Runs op `number` of rank `rank`. Pre: the store was entered by it, and it is no exchange.
  void operator()(program const& code, op const& o, std::int32_t rank, std::int32_t number) {
    switch (o.kind) {
      case op_kind::attend:
      case op_kind::attend_backward:
        expect((o.kind == op_kind::attend_backward) == backward(), name_of(o.kind), " in the other pass");
        for (tile_task const& t : code.tiles_of(o)) {
          attend(t, rank, number);
        }
        break;
      case op_kind::row_dot:
        for (dot_task const& t : code.dots_of(o)) {
          dot(t);
        }
        break;
      case op_kind::clear:
        for (region_task const& t : code.clears_of(o)) {
          clear(t);
        }
        break;
      case op_kind::reduce:
        for (reduce_task const& t : code.reduces_of(o)) {
          reduce(code, t);
        }
        break;
      case op_kind::exchange:
        break;
    }
  }

 private:
  [[nodiscard]] bool backward() const noexcept { return direction_ == pass::backward; }

  void attend(tile_task const& t, std::int32_t rank, std::int32_t number) {
    std::int32_t const group = batch_.shape.group();
    std::int64_t const length = store_.check_segment(t.segment);
    expect(0 <= t.rows.begin && t.rows.begin < t.rows.end && t.rows.end <= length, "tile rows [", t.rows.begin, ", ",
           t.rows.end, ") of segment ", t.segment.value, ", which has ", length);
    expect(0 <= t.head_begin && t.head_begin < t.head_end && t.head_end <= batch_.shape.q_heads &&
               t.head_begin / group == (t.head_end - 1) / group,
           "tile heads [", t.head_begin, ", ", t.head_end, ") are not of one key/value head");
    row_range const seen = batch_.shape.mask.span(t.rows.begin, t.rows.end, length);
    expect(0 <= t.keys.begin && t.keys.begin < t.keys.end && t.keys.end <= length, "tile keys [", t.keys.begin, ", ",
           t.keys.end, ") of segment ", t.segment.value, ", which has ", length);
    expect(t.part != key_part::all ||
               (t.keys.begin % key_block == 0 && t.keys.begin <= seen.begin && seen.end <= t.keys.end),
           "tile keys [", t.keys.begin, ", ", t.keys.end, ") do not hold [", seen.begin, ", ", seen.end,
           ") from a key block on");
    std::int32_t const kv = t.head_begin / group;
    std::uint64_t const id = ledger_.record(t, kv, rank, number);
    auto const of_rows = [&](tensor x) { return region{x, t.segment, t.head_begin, t.head_end, t.rows}; };
    auto const of_keys = [&](tensor x) { return region{x, t.segment, kv, kv + 1, t.keys}; };
    for (tensor const x : {tensor::k, tensor::v}) {
      static_cast<void>(store_.read(of_keys(x), t.where(x)));
    }
    static_cast<void>(store_.read(of_rows(tensor::q), t.where(tensor::q)));
    auto const put = [&](tensor result) {
      tensor const x = t.output(result);
      if (t.part == key_part::next) {
        store_.accumulate(of_rows(x), t.where(x), id);
      } else {
        store_.write(of_rows(x), t.where(x), std::array{signed_rows{t.rows, t.part == key_part::first ? id : 0}});
      }
    };
    if (!backward()) {
      put(tensor::o);
      put(tensor::lse);
      return;
    }
    for (tensor const x : {tensor::d_o, tensor::lse, tensor::delta}) {
      static_cast<void>(store_.read(of_rows(x), t.where(x)));
    }
    put(tensor::dq);
    for (tensor const whole : key_gradients) {
      tensor const x = t.output(whole);
      store_.accumulate(of_keys(x), t.where(x), id);
    }
  }

  void dot(dot_task const& t) {
    expect(t.what.what == tensor::delta && backward(), "row_dot writes ", t.what);
    auto const read = [&](tensor x, location at) {
      region of = t.what;
      of.what = x;
      static_cast<void>(store_.read(of, at));
    };
    read(tensor::d_o, t.d_o);
    read(t.output(), t.o);
    store_.write(t.what, t.at, whole_rows(t.what));
  }

  void clear(region_task const& t) {
    if (t.what.segment == no_segment) {
      store_.clear_padding(t);
      return;
    }
    expect(is_key_gradient(t.what.what), "clears ", t.what, ", which is not a sum");
    store_.write(t.what, t.at, whole_rows(t.what));
  }

  void reduce(program const& code, reduce_task const& t) {
    region part = t.what;
    part.what = part_of(t.what.what);
    expect(is_part(part.what), "reduces into ", t.what, ", which is not a sum");
    expect(t.what.what != tensor::o || t.last - t.first == 1, "makes ", t.what, " of ", t.last - t.first,
           " parts, expected one");
    std::vector<signed_rows> sums = whole_rows(t.what);
    for (location const from : code.partials_of(t)) {
      std::vector<signed_rows> next;
      // Both lists cover the same tokens; their common refinement carries the added signatures.
      for (signed_rows const& rows : store_.read(part, from)) {
        for (signed_rows const& sum : sums) {
          row_range const both{std::max(rows.tokens.begin, sum.tokens.begin),
                               std::min(rows.tokens.end, sum.tokens.end)};
          if (both.begin < both.end) {
            next.push_back({both, rows.signature + sum.signature});
          }
        }
      }
      sums = std::move(next);
    }
    store_.write(t.what, t.into, sums);
  }

  pool_batch const& batch_;
  pass direction_;
  region_store& store_;
  tile_ledger& ledger_;
};

}  // namespace libra::detail
