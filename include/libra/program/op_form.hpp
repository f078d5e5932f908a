#pragma once

#include <libra/program/ops.hpp>
#include <libra/program/tracked_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace libra::detail {

/// Checks that an op is of a kind there is, that its slices lie in the program's arrays and its peers in the pool.
inline void check_form(program const& p, op const& o, std::int32_t ranks) {
  expect(static_cast<std::size_t>(o.on) < queue_count, "is on queue ", static_cast<int>(o.on), " of ", queue_count);
  auto const check_slice = [](std::string_view of, item_range r, std::size_t size) {
    expect(r.begin <= r.end && r.end <= size, "has ", of, " [", r.begin, ", ", r.end, ") of ", size);
  };
  switch (o.kind) {
    case op_kind::exchange:
      check_slice("sends", o.items, p.sends.size());
      check_slice("receives", o.receives, p.receives.size());
      for (std::span<transfer const> const transfers : {p.sends_of(o), p.receives_of(o)}) {
        for (transfer const& t : transfers) {
          expect(t.peer.value >= 0 && t.peer.value < ranks, t.what, " has peer ", t.peer.value,
                 ", outside the pool of ", ranks, " ranks");
        }
      }
      return;
    case op_kind::attend:
    case op_kind::attend_backward:
      check_slice("tiles", o.items, p.tiles.size());
      return;
    case op_kind::row_dot:
      check_slice("dots", o.items, p.dots.size());
      return;
    case op_kind::clear:
      check_slice("clears", o.items, p.clears.size());
      return;
    case op_kind::reduce:
      check_slice("reduces", o.items, p.reduces.size());
      for (reduce_task const& t : p.reduces_of(o)) {
        check_slice("partials", {t.first, t.last}, p.partials.size());
      }
      return;
  }
  expect(false, "is of kind ", static_cast<int>(o.kind), ", which there is not");
}

}  // namespace libra::detail
