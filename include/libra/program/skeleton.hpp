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
/// The inputs of a wave travel while earlier ones are computed, and its results return while later ones are. What
/// brings wave w + `alive` waits for wave w, and wave w + `alive` for the return of wave w: so many waves' blocks are
/// alive at a time, whatever the speeds. Sums of what a round of `deliver` brought are taken after wave `wave_of_sum`
/// and leave with that wave's round; the rounds after the last wave's take home only these.
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
    std::vector<bool> attends;        ///< `[waves + 3]`: whether the rank has tiles of that wave
    std::vector<std::int32_t> after;  ///< `[waves + 3]`: the round of fetch that completes a wave's inputs, or -1
    /// Shape: `[waves + 3]`. Whether it takes sums of what that round of deliver brought from its node, or from others.
    std::vector<bool> sums;
    std::vector<bool> joins;
  };

  skeleton(needs const& n, op_kind attend_kind)
      : fetch(static_cast<std::size_t>(fetch_rounds(n.waves)), none),
        attend(static_cast<std::size_t>(wave_numbers{n.waves}.count()), none),
        deliver(attend),
        sum(attend),
        join(attend) {
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
      deliver[w] = push(op_kind::exchange, queue::deliver, {attend[w], taken_});
    }
    bring_until(n, fetch_rounds(n.waves) - 1);
    compute(n, waves + 1, attend_kind, {});
    if (n.late > 0) {
      add_up(n, waves + 1);
      deliver[waves + 1] = push(op_kind::exchange, queue::deliver, {taken_});
    }
    compute(n, waves + 2, attend_kind, {});
    if (n.late > 1) {
      add_up(n, waves + 2);
      deliver[waves + 2] = push(op_kind::exchange, queue::deliver, {taken_});
    }
    reduce = n.reduces ? push(op_kind::reduce, queue::compute, {last_deliver()}) : none;
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
  /// Shape: `[waves + 3]`, by wave or round; sums by the round of their parts.
  std::vector<std::size_t> attend;
  std::vector<std::size_t> deliver;
  std::vector<std::size_t> sum;
  std::vector<std::size_t> join;

  [[nodiscard]] std::vector<std::size_t> const& sums(bool between_nodes) const { return between_nodes ? join : sum; }

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
    if (n.attends[wave]) {
      attend[wave] = push(kind, queue::compute, waits);
    }
  }
  /// Takes the sums that are due after a wave; `taken_` is the last of them.
  void add_up(needs const& n, std::size_t wave) {
    taken_ = none;
    for (std::size_t round = wave > 3 ? wave - 3 : 0; round < wave; ++round) {
      auto const due = [&](bool between_nodes) {
        return wave_of_sum(static_cast<std::int32_t>(round), between_nodes, n.waves) == static_cast<std::int32_t>(wave);
      };
      if (n.sums[round] && due(false)) {
        sum[round] = taken_ = push(op_kind::reduce, queue::compute, {deliver[round]});
      }
      if (n.joins[round] && due(true)) {
        join[round] = taken_ = push(op_kind::reduce, queue::compute, {deliver[round]});
      }
    }
  }

  std::int32_t next_round_{};
  std::size_t taken_{none};
};

}  // namespace libra::detail
