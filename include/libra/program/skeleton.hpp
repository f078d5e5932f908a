#pragma once

#include <libra/program/op_list.hpp>
#include <libra/program/ops.hpp>
#include <libra/program/wave_numbers.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace libra::detail {

/// A rank's ops without their items, and where each is in the list (`none` when the rank has no such op).
///
/// The inputs of a wave travel while earlier ones are computed, and its results return while later ones are. What
/// brings wave w + `alive` waits for wave w, and wave w + `alive` for the return of wave w: so many waves' blocks are
/// alive at a time, whatever the speeds. Sums of what a round of `deliver` brought are taken before the next one, which
/// they leave with; the rounds after the last wave's take home only these.
class skeleton : private op_list {
 public:
  /// What the rank has to do beside exchanging. `waves`, `rounds` and `late` are the pool's: how many waves need
  /// something, which rounds of fetch bring something, and how many rounds of deliver, two at most, follow the waves'.
  struct needs {
    bool dots{};
    bool clears{};
    bool reduces{};
    std::int32_t waves{};
    std::int32_t alive{2};
    std::int32_t late{};
    std::vector<bool> rounds;         ///< `[fetch_rounds(waves)]`
    std::vector<bool> attends;        ///< `[waves + 4]`: whether the rank has tiles of that wave
    std::vector<bool> clears_before;  ///< `[waves + 4]`: whether something is cleared just before that wave
    std::vector<std::int32_t> after;  ///< `[waves + 4]`: the round of fetch that completes a wave's inputs, or -1
    std::vector<bool> sums;           ///< `[waves + 4]`: whether it adds up what that round of deliver brought
  };

  skeleton(needs const& n, op_kind attend_kind)
      : fetch(static_cast<std::size_t>(fetch_rounds(n.waves)), none),
        attend(static_cast<std::size_t>(wave_numbers{n.waves}.count()), none),
        clear_before(attend),
        deliver(attend),
        sum(attend) {
    dot = n.dots ? push(op_kind::row_dot, queue::compute, {}) : none;
    clear = n.clears ? push(op_kind::clear, queue::compute, {}) : none;
    auto const waves = static_cast<std::size_t>(n.waves);
    auto const alive = static_cast<std::size_t>(n.alive);
    bring_until(n, 1);
    compute(n, 0, attend_kind, {});
    for (std::size_t w = 1; w <= waves; ++w) {
      // Two rounds ahead of the wave before, and what this one needs.
      bring_until(n, std::max(network_round(static_cast<std::int32_t>(w)), n.after[w]));
      std::size_t const inputs = n.after[w] < 0 ? none : fetch[static_cast<std::size_t>(n.after[w])];
      compute(n, w, attend_kind, {inputs, w > alive ? deliver[w - alive] : none});
      add_up(n, w);
      deliver[w] = push(op_kind::exchange, queue::deliver, {attend[w], last_sum_});
    }
    bring_until(n, fetch_rounds(n.waves) - 1);
    for (std::size_t w = waves + 1; w < attend.size(); ++w) {
      compute(n, w, attend_kind, {});
      if (std::cmp_less_equal(w - waves, n.late)) {
        add_up(n, w);
        deliver[w] = push(op_kind::exchange, queue::deliver, {last_sum_});
      }
    }
    reduce = n.reduces ? push(op_kind::reduce, queue::combine, {last_deliver(), last_attend_}) : none;
  }

  /// The last round of deliver; none when there is none.
  [[nodiscard]] std::size_t last_deliver() const {
    std::size_t last = none;
    for (std::size_t const o : deliver) {
      last = o != none ? o : last;
    }
    return last;
  }
  /// The op of the first round of fetch from `round` on; one certainly follows when something is passed on.
  [[nodiscard]] std::size_t fetch_from(std::int32_t round) const {
    return *std::find_if(fetch.begin() + round, fetch.end(), [](std::size_t o) { return o != none; });
  }

  using op_list::ops;
  std::size_t dot{none};
  std::size_t clear{none};
  std::size_t reduce{none};
  /// Shape: `[fetch_rounds(waves)]`, by round.
  std::vector<std::size_t> fetch;
  /// Shape: `[waves + 4]`, by wave or round; sums by the round of their parts.
  std::vector<std::size_t> attend;
  std::vector<std::size_t> clear_before;
  std::vector<std::size_t> deliver;
  std::vector<std::size_t> sum;

 private:
  /// Lists the rounds of fetch up to `last`.
  void bring_until(needs const& n, std::int32_t last) {
    for (; next_round_ <= last && next_round_ < fetch_rounds(n.waves); ++next_round_) {
      auto const round = static_cast<std::size_t>(next_round_);
      if (n.rounds[round]) {
        std::int32_t const wave = wave_of_round(next_round_);
        std::size_t const earlier = wave > n.alive ? attend[static_cast<std::size_t>(wave - n.alive)] : none;
        fetch[round] = push(op_kind::exchange, queue::fetch, {dot, earlier});
      }
    }
  }
  void compute(needs const& n, std::size_t wave, op_kind kind, std::initializer_list<std::size_t> waits) {
    if (n.clears_before[wave]) {
      // What it clears may lie where an earlier wave's sums were until they had left.
      auto const alive = static_cast<std::size_t>(n.alive);
      clear_before[wave] = push(op_kind::clear, queue::compute, {wave > alive ? deliver[wave - alive] : none});
    }
    if (n.attends[wave]) {
      attend[wave] = last_attend_ = push(kind, queue::compute, waits);
    }
  }
  /// Adds up what the round of deliver before `wave`'s brought.
  void add_up(needs const& n, std::size_t wave) {
    if (n.sums[wave - 1]) {
      sum[wave - 1] = last_sum_ = push(op_kind::reduce, queue::combine, {deliver[wave - 1]});
    }
  }

  std::int32_t next_round_{};
  std::size_t last_attend_{none};
  std::size_t last_sum_{none};
};

}  // namespace libra::detail
