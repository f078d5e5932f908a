#pragma once

#include <libra/program/op_list.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/panels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace libra::detail {

/// A rank's ops without their items, and where each is in the list (`none` when the rank has no such op).
///
/// The input round of wave w + 1 travels while wave w is computed and the results of wave w - 1 return. Round w + 2
/// waits for wave w, and wave w + 2 for the return of wave w: two waves' blocks are alive at a time, whatever the
/// speeds.
class skeleton : private op_list {
 public:
  /// What the rank has to do beside exchanging; `waves` counts the rounds of the whole pool.
  struct needs {
    bool dots{};
    bool clears{};
    bool reduces{};
    std::int32_t waves{};
    std::vector<bool> attends;  ///< `[waves + 1]`: whether the rank has tiles of that wave
  };

  skeleton(needs const& n, op_kind attend_kind)
      : fetch(static_cast<std::size_t>(n.waves) + 1, none),
        attend(fetch),
        deliver(fetch) {
    dot = n.dots ? push(op_kind::row_dot, queue::compute, {}) : none;
    clear = n.clears ? push(op_kind::clear, queue::compute, {}) : none;
    std::size_t const waves = fetch.size() - 1;
    if (waves >= 1) {
      fetch[1] = push(op_kind::exchange, queue::fetch, {dot});
    }
    if (n.attends[0]) {
      attend[0] = push(attend_kind, queue::compute, {});
    }
    for (std::size_t w = 1; w <= waves; ++w) {
      if (w < waves) {
        fetch[w + 1] = push(op_kind::exchange, queue::fetch, {w >= 2 ? attend[w - 1] : none});
      }
      if (n.attends[w]) {
        attend[w] = push(attend_kind, queue::compute, {fetch[w], w >= 3 ? deliver[w - 2] : none});
      }
      // The last round also returns partial sums, to which every wave may have added.
      std::size_t last = attend[w];
      for (std::size_t earlier = w; w == waves && last == none && earlier-- > 0;) {
        last = attend[earlier];
      }
      deliver[w] = push(op_kind::exchange, queue::deliver, {last, w == waves ? clear : none});
    }
    reduce = n.reduces ? push(op_kind::reduce, queue::compute, {waves >= 1 ? deliver[waves] : none}) : none;
  }

  using op_list::ops;
  std::size_t dot{none};
  std::size_t clear{none};
  std::size_t reduce{none};
  /// Shape: `[waves + 1]`, by wave; no fetch or deliver for wave 0.
  std::vector<std::size_t> fetch;
  std::vector<std::size_t> attend;
  std::vector<std::size_t> deliver;
};

}  // namespace libra::detail
