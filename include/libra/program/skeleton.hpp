#pragma once

#include <libra/program/op_list.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/waves.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace libra::detail {

/// A rank's ops without their items, and where each is in the list (`none` when the rank has no such op).
///
/// Round w completes the inputs of wave w while wave w - 1 is computed, and the results of wave w return while the next
/// one is. Round w + 2 waits for wave w, and wave w + 2 for the return of wave w: two waves' blocks are alive at a
/// time, whatever the speeds. Node sums of what round w of `deliver` brought are taken after wave w + 1 and leave with
/// round w + 1; the round after the last wave's takes home only these.
class skeleton : private op_list {
 public:
  /// What the rank has to do beside exchanging. `waves`, `early` and `late` are the pool's: how many waves need
  /// something, whether a round before the first passes keys on, and whether one after the last takes sums home.
  struct needs {
    bool dots{};
    bool clears{};
    bool reduces{};
    std::int32_t waves{};
    bool early{};
    bool late{};
    std::vector<bool> attends;  ///< `[waves + 3]`: whether the rank has tiles of that wave
    std::vector<bool> sums;     ///< `[waves + 3]`: whether it takes node sums of what that round of deliver brought
  };

  skeleton(needs const& n, op_kind attend_kind)
      : fetch(static_cast<std::size_t>(wave_numbers{n.waves}.count()), none),
        attend(fetch),
        deliver(fetch),
        sum(fetch) {
    dot = n.dots ? push(op_kind::row_dot, queue::compute, {}) : none;
    clear = n.clears ? push(op_kind::clear, queue::compute, {}) : none;
    auto const waves = static_cast<std::size_t>(n.waves);
    if (n.early) {
      fetch[0] = push(op_kind::exchange, queue::fetch, {dot});
    }
    if (waves >= 1) {
      fetch[1] = push(op_kind::exchange, queue::fetch, {dot});
    }
    compute(n, 0, attend_kind, {});
    for (std::size_t w = 1; w <= waves; ++w) {
      if (w < waves) {
        fetch[w + 1] = push(op_kind::exchange, queue::fetch, {w >= 2 ? attend[w - 1] : none});
      }
      compute(n, w, attend_kind, {fetch[w], w >= 3 ? deliver[w - 2] : none});
      add_up(n, w - 1);
      deliver[w] = push(op_kind::exchange, queue::deliver, {attend[w], sum[w - 1]});
    }
    compute(n, waves + 1, attend_kind, {});
    if (n.late) {
      add_up(n, waves);
      deliver[waves + 1] = push(op_kind::exchange, queue::deliver, {sum[waves]});
    }
    compute(n, waves + 2, attend_kind, {});
    reduce = n.reduces ? push(op_kind::reduce, queue::compute, {last_deliver()}) : none;
  }

  /// The last round of deliver; none when there is none.
  [[nodiscard]] std::size_t last_deliver() const {
    auto const last = std::find_if(deliver.rbegin(), deliver.rend(), [](std::size_t o) { return o != none; });
    return last == deliver.rend() ? none : *last;
  }

  using op_list::ops;
  std::size_t dot{none};
  std::size_t clear{none};
  std::size_t reduce{none};
  /// Shape: `[waves + 3]`, by wave or round.
  std::vector<std::size_t> fetch;
  std::vector<std::size_t> attend;
  std::vector<std::size_t> deliver;
  std::vector<std::size_t> sum;

 private:
  void compute(needs const& n, std::size_t wave, op_kind kind, std::initializer_list<std::size_t> waits) {
    if (n.attends[wave]) {
      attend[wave] = push(kind, queue::compute, waits);
    }
  }
  void add_up(needs const& n, std::size_t round) {
    if (n.sums[round]) {
      sum[round] = push(op_kind::reduce, queue::compute, {deliver[round]});
    }
  }
};

}  // namespace libra::detail
