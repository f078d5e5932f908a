#pragma once

#include <libra/program/ops.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace libra::detail {

/// Lists the transfers of a pool's exchanges, one exchange after another, at both of their ends: straight into the
/// ranks' programs, so that nothing is copied.
class round_list {
 public:
  /// `programs`: shape `[ranks]`. Pre: they outlive it, and nobody else lists transfers in them.
  explicit round_list(std::vector<program*> programs) : programs_(std::move(programs)), begun_(programs_.size()) {}

  /// Makes room for so many transfers at either end of a rank, beside what is there.
  void reserve(std::size_t per_rank) {
    for (program* const p : programs_) {
      p->sends.reserve(p->sends.size() + per_rank);
      p->receives.reserve(p->receives.size() + per_rank);
    }
  }

  void move(region const& what, rank_id from, location at_source, rank_id to, location at_target) {
    programs_[from.index()]->sends.push_back({what, to, at_source});
    programs_[to.index()]->receives.push_back({what, from, at_target});
  }

  /// Gives an op of rank `r` what was listed for that rank since the last call.
  void close(std::size_t r, op& o) {
    o.items = since(begun_[r].sends, programs_[r]->sends);
    o.receives = since(begun_[r].receives, programs_[r]->receives);
  }

 private:
  struct ends {
    std::uint32_t sends{};
    std::uint32_t receives{};
  };
  static item_range since(std::uint32_t& begun, std::vector<transfer> const& all) {
    auto const end = static_cast<std::uint32_t>(all.size());
    return {std::exchange(begun, end), end};
  }

  std::vector<program*> programs_;
  std::vector<ends> begun_;  ///< where the round at hand begins
};

/// The programs of ranks while they are built. Shape: `[ranks]`.
template <class Rank>
[[nodiscard]] std::vector<program*> programs_of(std::vector<Rank>& ranks) {
  std::vector<program*> programs;
  programs.reserve(ranks.size());
  for (Rank& rank : ranks) {
    programs.push_back(&rank.out);
  }
  return programs;
}

}  // namespace libra::detail
