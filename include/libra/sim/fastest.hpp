#pragma once

#include <concepts>
#include <cstddef>
#include <span>

namespace libra::sim {

/// Something whose cost is found out bit by bit: `least()` never falls from one `advance()` to the next and is the
/// cost itself once `done()`.
template <class C>
concept contender = requires(C c, C const& seen) {
  { seen.least() } -> std::convertible_to<double>;
  { seen.done() } -> std::convertible_to<bool>;
  c.advance();
};

/// The contender that costs least, of equals the first; the others are found out only as far as it takes to rule them
/// out.
///
/// Always the one that may still cost least is advanced, so what can be seen to lose early costs little. Pre: not
/// empty. Returns its index; it is `done()`. Complexity: linear in the contenders per advance.
template <contender C>
[[nodiscard]] std::size_t fastest(std::span<C> all) {
  while (true) {
    std::size_t first = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i].least() < all[first].least()) {
        first = i;
      }
    }
    if (all[first].done()) {
      return first;
    }
    all[first].advance();
  }
}

}  // namespace libra::sim
