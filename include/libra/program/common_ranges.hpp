#pragma once

#include <libra/model/mask.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace libra::detail {

/// Cuts pieces that may overlap into the ranges that the same of them cover. A piece has `tokens`.
template <class Piece>
class common_ranges {
 public:
  /// Calls `visit(range, covering)` for every range that some pieces cover, in order; `covering` are these, in the
  /// order of `pieces`, and `visit`'s own to change. Pre: the pieces are sorted by where they begin.
  ///
  /// Complexity: O(n log n) in the pieces, plus linear in what the ranges have in common.
  template <class Visit>
  void operator()(std::span<Piece const> pieces, Visit visit) {
    cuts_.clear();
    for (Piece const& p : pieces) {
      cuts_.push_back(p.tokens.begin);
      cuts_.push_back(p.tokens.end);
    }
    std::ranges::sort(cuts_);
    cuts_.erase(std::ranges::unique(cuts_).begin(), cuts_.end());
    std::size_t open = 0;  // nothing before it reaches the range
    for (std::size_t c = 0; c + 1 < cuts_.size(); ++c) {
      row_range const range{cuts_[c], cuts_[c + 1]};
      while (open < pieces.size() && pieces[open].tokens.end <= range.begin) {
        ++open;
      }
      covering_.clear();
      for (std::size_t p = open; p < pieces.size() && pieces[p].tokens.begin <= range.begin; ++p) {
        if (range.end <= pieces[p].tokens.end) {
          covering_.push_back(pieces[p]);
        }
      }
      if (!covering_.empty()) {
        visit(range, covering_);
      }
    }
  }

 private:
  std::vector<std::int64_t> cuts_;
  std::vector<Piece> covering_;
};

}  // namespace libra::detail
