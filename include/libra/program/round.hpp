#pragma once

#include <libra/program/ops.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace libra::detail {

/// Lists every transfer of one exchange at both of its ends, then closes the op's slices. Once closed on all ranks it
/// may list the next exchange.
class round {
 public:
  explicit round(std::size_t ranks) : sends_(ranks), receives_(ranks) {}

  void move(region const& what, rank_id from, location at_source, rank_id to, location at_target) {
    sends_[from.index()].push_back({what, to, at_source});
    receives_[to.index()].push_back({what, from, at_target});
  }
  void close(std::size_t r, op& o, program& out) {
    o.items = append(out.sends, sends_[r]);
    o.receives = append(out.receives, receives_[r]);
    sends_[r].clear();
    receives_[r].clear();
  }

 private:
  static item_range append(std::vector<transfer>& all, std::vector<transfer> const& more) {
    auto const begin = static_cast<std::uint32_t>(all.size());
    all.insert(all.end(), more.begin(), more.end());
    return {begin, static_cast<std::uint32_t>(all.size())};
  }
  std::vector<std::vector<transfer>> sends_;
  std::vector<std::vector<transfer>> receives_;
};

}  // namespace libra::detail
